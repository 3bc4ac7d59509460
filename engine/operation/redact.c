/*
 * Hides the secret values of a resource in what others say about it. A runtime's texts repeat what
 * its platform answers, and a platform may quote any value that it got, has, or had. So a text is
 * searched for all secrets of the resource that the operation knows, old and new.
 */
#include <stdlib.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/operation/private.h"
#include "engine/operation/results.h"
#include "engine/operation/secrets.h"
#include "engine/operation/session.h"
#include "engine/threads/locked.h"
#include "engine/value/path.h"
#include "engine/value/pointer_walk.h"
#include "engine/value/redaction.h"
#include "engine/value/value_mark.h"

/* Rounds for one change. Each reads all its secrets. */
#define MOST_ROUNDS 16

/* Two records, five steps, and what the node has. */
#define MOST_VALUES (2 * 3 + 5 * 7 + 4)

/* Values with something sensitive in them; references. */
struct secrets {
    struct operation *operation;
    const struct value *values[MOST_VALUES];
    size_t count;
};

/* A record, a step and the node often share one value. What stands in State for a secret of a store
 * names the reference, which is none. */
static void add_secret(struct secrets *secrets, const struct value *value)
{
    _cleanup_value_ const struct value *unmarked = NULL;

    if (!value_has_sensitive(value))
        return;
    unmarked = operation_unmark_secrets(secrets->operation, value);
    for (size_t i = 0; i < secrets->count; i++)
        if (secrets->values[i] == unmarked)
            return;
    secrets->values[secrets->count++] = TAKE(unmarked);
}

/* Without the memory, which is secret only because nobody but the runtime knows what is in it: ids,
 * as a rule, and versions, which messages need. */
static void add_record(struct secrets *secrets, const struct record *record)
{
    if (!record)
        return;
    add_secret(secrets, record->attributes);
    add_secret(secrets, record->extensions);
    add_secret(secrets, record->result);
}

static void add_step(struct secrets *secrets, const struct runtime_step *step)
{
    if (!step)
        return;
    add_secret(secrets, step->attributes);
    add_secret(secrets, step->extensions);
    add_secret(secrets, step->before);
    add_secret(secrets, step->after);
    add_secret(secrets, step->shown_before);
    add_secret(secrets, step->shown_after);
    add_secret(secrets, step->result);
}

/* The change's own steps are those of the last visit, or of this one. */
static void list_secrets(struct node *node, struct secrets *ret)
{
    struct operation *operation = node->operation;
    const struct plan_change *change = operation_change(node);
    _cleanup_(record_unref_p) const struct record *now =
        ledger_get(operation->ledger, change->id, change->deposed);
    const struct value *own[4];

    ret->operation = operation;
    add_record(ret, change->record);
    if (now != change->record)
        add_record(ret, now);
    add_step(ret, change->step);
    add_step(ret, change->removal);
    add_step(ret, node->step);
    add_step(ret, node->removal);
    pthread_mutex_lock(&operation->lock);
    own[0] = value_ref(node->attributes);
    own[1] = value_ref(node->extensions);
    own[2] = value_ref(node->seen);
    own[3] = value_ref(node->former);
    pthread_mutex_unlock(&operation->lock);
    for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
        add_secret(ret, own[i]);
        value_unref(own[i]);
    }
}

static void secrets_done(struct secrets *secrets)
{
    for (size_t i = 0; i < secrets->count; i++)
        value_unref(secrets->values[i]);
}

void operation_redact(struct node *node, struct error *error)
{
    _cleanup_(secrets_done) struct secrets secrets = {0};

    if (!error->code)
        return;
    list_secrets(node, &secrets);
    redact_error(error, secrets.values, secrets.count);
}

const struct value *operation_redact_warnings(struct node *node, const struct value *warnings)
{
    _cleanup_(value_builder_free_p) struct value_builder *b = NULL;

    if (!warnings)
        return NULL;
    b = value_builder_new();
    value_begin_array(b);
    for (size_t i = 0; i < value_count(warnings); i++) {
        struct error warning = {0};

        err_set(&warning, ERR_INVALID, NULL, "%s", value_string(value_at(warnings, i)));
        operation_redact(node, &warning);
        value_add_string(b, warning.message);
    }
    value_end_array(b);
    return value_finish(b);
}

/* ---- A change as planned ---- */

/* A text that is searched. */
struct searched {
    const char **text;
    struct diff_field *field; /* that it is of; NULL: of none */
};

/* Texts that are searched at once: as many as a redaction has room for. */
struct round {
    struct node *node;
    const struct secrets *secrets;
    struct redaction *redaction;
    void (*hide)(struct redaction *redaction, const struct value *value);
    struct searched *items;
    size_t count, capacity;
    size_t n_before; /* rounds that ended */
};

static void replace_text(const struct searched *searched, const char *text)
{
    *searched->text = text;
    if (searched->field)
        searched->field->is_redacted = true;
}

static void end_round(struct round *round)
{
    for (size_t i = 0; round->count && i < round->secrets->count; i++)
        round->hide(round->redaction, round->secrets->values[i]);
    for (size_t i = 0; i < round->count; i++) {
        _cleanup_free_ char *text = redaction_text(round->redaction, i);

        if (text)
            replace_text(&round->items[i], operation_text(round->node->operation, "%s", text));
    }
    redaction_free(round->redaction);
    round->redaction = redaction_new();
    round->n_before += round->count > 0;
    round->count = 0;
}

/* False: it is too long by itself, or the last round is full. */
static bool add_to_round(struct round *round, const char *text)
{
    if (redaction_add(round->redaction, text))
        return true;
    if (round->n_before + 1 == MOST_ROUNDS)
        return false;
    end_round(round);
    return redaction_add(round->redaction, text);
}

/* A text that is not searched is hidden whole. */
static void add_text(struct round *round, const char **text, struct diff_field *field)
{
    const struct searched searched = {text, field};

    if (!*text)
        return;
    if (!add_to_round(round, *text)) {
        replace_text(&searched, REDACTED);
        return;
    }
    round->items = mem_grow(round->items, round->count, &round->capacity, sizeof(*round->items));
    round->items[round->count++] = searched;
}

void operation_redact_change(struct node *node, const struct runtime_step *shown)
{
    struct plan_change *change = operation_change(node);
    _cleanup_(secrets_done) struct secrets secrets = {0};
    struct round round = {.node = node, .secrets = &secrets, .hide = redaction_hide};

    list_secrets(node, &secrets);
    add_step(&secrets, shown);
    if (!secrets.count)
        return;
    round.redaction = redaction_new();
    add_text(&round, &change->reason, NULL);
    for (size_t i = 0; change->diff && i < change->diff->n_fields; i++) {
        struct diff_field *field = &change->diff->fields[i];

        add_text(&round, &field->path, field);
        add_text(&round, &field->from, field);
        add_text(&round, &field->to, field);
    }
    end_round(&round);
    redaction_free(round.redaction);
    free(round.items);
}

/* ---- A result ---- */

static bool is_open_string(const struct value *value)
{
    return value_is(value, VALUE_STRING) && !value_is_sensitive(value);
}

static bool may_have_open_string(const struct value *value)
{
    return is_open_string(value) || (value_count(value) && !value_is_sensitive(value));
}

static const char *string_at(const struct value *value, const struct value *pointers, size_t index)
{
    return value_string(pointer_find(value, value_string(value_at(pointers, index))));
}

/* A line for each that can be read. */
static void add_keys(struct buf *to, const struct value *value)
{
    size_t length;

    for (size_t i = 0; !value_is_sensitive(value) && i < value_count(value); i++) {
        if (value_is(value, VALUE_OBJECT)) {
            const char *key = value_member_key(value, i, &length);

            buf_add(to, key, length);
            buf_add_char(to, '\n');
        }
        add_keys(to, value_child(value, i));
    }
}

static bool has_quote(const struct buf *text, const struct secrets *secrets)
{
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();
    _cleanup_free_ char *redacted = NULL;

    if (!text->length)
        return false;
    if (!redaction_add(redaction, text->data))
        return true;
    for (size_t i = 0; i < secrets->count; i++)
        redaction_hide_whole(redaction, secrets->values[i]);
    redacted = redaction_text(redaction, 0);
    return redacted != NULL;
}

/* NULL: there are too many strings to be searched. */
static const struct value *mark_strings(struct node *node, const struct secrets *secrets,
                                        const struct value *result)
{
    _cleanup_value_ const struct value *strings = NULL, *quoting = NULL;
    _cleanup_(value_builder_free_p) struct value_builder *b = value_builder_new();
    _cleanup_free_ const char **texts = NULL;
    struct round round = {.node = node, .secrets = secrets, .hide = redaction_hide_whole};

    if (!may_have_open_string(result))
        return value_ref(result);
    strings = pointer_list(result, is_open_string, may_have_open_string);
    if (!strings)
        return NULL;
    texts = NEW_ARRAY(const char *, value_count(strings) + 1);
    round.redaction = redaction_new();
    for (size_t i = 0; i < value_count(strings); i++) {
        texts[i] = string_at(result, strings, i);
        add_text(&round, &texts[i], NULL);
    }
    end_round(&round);
    redaction_free(round.redaction);
    free(round.items);
    value_begin_array(b);
    for (size_t i = 0; i < value_count(strings); i++)
        if (texts[i] != string_at(result, strings, i))
            value_add(b, value_at(strings, i));
    value_end_array(b);
    quoting = value_finish(b);
    return value_mark_paths(result, quoting);
}

const struct value *operation_mark_quotes(struct node *node, const struct value *result)
{
    const struct runtime_ops *ops = operation_ops(node);
    _cleanup_(secrets_done) struct secrets secrets = {0};
    _cleanup_buf_ struct buf keys = BUF_INIT;
    const struct value *marked = NULL;

    if (result && ops->flags & RUNTIME_IS_RECORDED && !ops->foreign)
        list_secrets(node, &secrets);
    if (!secrets.count)
        return value_ref(result);
    add_keys(&keys, result);
    if (!has_quote(&keys, &secrets))
        marked = mark_strings(node, &secrets, result);
    return marked ? marked : value_sensitive(result);
}
