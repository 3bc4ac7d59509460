/*
 * Hides the secret values of a resource in what others say about it. A runtime's texts repeat what
 * its platform answers, and a platform may quote any value that it got, has, or had. So a text is
 * searched for all secrets of the resource that the operation knows, old and new.
 */
#include <stdlib.h>

#include "engine/base/limits.h"
#include "engine/base/redaction.h"
#include "engine/operation/private.h"

/* Two records, five steps, and what the node has. */
#define MOST_VALUES (2 * 3 + 5 * 7 + 3)

/* Values with something sensitive in them; references. */
struct secrets {
    const struct value *values[MOST_VALUES];
    size_t count;
};

/* A record, a step and the node often share one value. */
static void add(struct secrets *secrets, const struct value *value)
{
    for (size_t i = 0; i < secrets->count; i++)
        if (secrets->values[i] == value)
            return;
    if (value_has_sensitive(value))
        secrets->values[secrets->count++] = value_ref(value);
}

/* Without the memory, which is secret only because nobody but the runtime knows what is in it: ids,
 * as a rule, and versions, which messages need. */
static void add_record(struct secrets *secrets, const struct record *record)
{
    if (!record)
        return;
    add(secrets, record->attributes);
    add(secrets, record->extensions);
    add(secrets, record->result);
}

static void add_step(struct secrets *secrets, const struct runtime_step *step)
{
    if (!step)
        return;
    add(secrets, step->attributes);
    add(secrets, step->extensions);
    add(secrets, step->before);
    add(secrets, step->after);
    add(secrets, step->shown_before);
    add(secrets, step->shown_after);
    add(secrets, step->result);
}

/* The change's own steps are those of the last visit, or of this one. */
static void list_secrets(struct node *node, struct secrets *ret)
{
    struct operation *operation = node->operation;
    const struct plan_change *change = operation_change(node);
    _cleanup_(record_unref_p) const struct record *now =
        ledger_get(operation->ledger, change->id, change->deposed);

    add_record(ret, change->record);
    if (now != change->record)
        add_record(ret, now);
    add_step(ret, change->step);
    add_step(ret, change->removal);
    add_step(ret, node->step);
    add_step(ret, node->removal);
    pthread_mutex_lock(&operation->lock);
    add(ret, node->attributes);
    add(ret, node->extensions);
    add(ret, node->seen);
    pthread_mutex_unlock(&operation->lock);
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

/* ---- A change as planned ---- */

struct texts {
    struct redaction *redaction;
    const char **items[3 * LIMIT_DIFF_FIELDS + 1];
    size_t count;
};

/* A text that does not fit cannot be searched, and is hidden whole. */
static void add_text(struct texts *texts, const char **text)
{
    if (!*text)
        return;
    if (redaction_add(texts->redaction, *text))
        texts->items[texts->count++] = text;
    else
        *text = REDACTED;
}

static void add_texts(struct texts *texts, struct plan_change *change)
{
    add_text(texts, &change->reason);
    for (size_t i = 0; change->diff && i < change->diff->n_fields; i++) {
        add_text(texts, &change->diff->fields[i].path);
        add_text(texts, &change->diff->fields[i].from);
        add_text(texts, &change->diff->fields[i].to);
    }
}

void operation_redact_change(struct node *node, const struct runtime_step *shown)
{
    struct plan_change *change = operation_change(node);
    _cleanup_(redaction_free_p) struct redaction *redaction = redaction_new();
    _cleanup_(secrets_done) struct secrets secrets = {0};
    struct texts texts = {.redaction = redaction};

    list_secrets(node, &secrets);
    add_step(&secrets, shown);
    if (!secrets.count)
        return;
    add_texts(&texts, change);
    for (size_t i = 0; texts.count && i < secrets.count; i++)
        redaction_hide(redaction, secrets.values[i]);
    for (size_t i = 0; i < texts.count; i++) {
        _cleanup_free_ char *text = redaction_text(redaction, i);

        if (text)
            *texts.items[i] = operation_text(node->operation, "%s", text);
    }
}
