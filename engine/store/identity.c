#include "engine/store/identity.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/store/store_error.h"
#include "engine/value/json.h"

const struct document_name store_identity_name = {DOCUMENT_STORE, {"kusion", "store"}, NULL};

bool store_term_equal(const struct store_term *a, const struct store_term *b)
{
    return a->counter == b->counter && str_equal(a->id, b->id) && str_equal(a->write, b->write);
}

void store_identity_done(struct store_identity *identity)
{
    free(identity->moved_to);
    free(identity->copied_from);
    *identity = (struct store_identity){0};
}

/* ---- As they are kept ---- */

static const struct value *term_to_value(const struct store_term *term)
{
    return term->counter ? value_pack("{s:s, s:I, s:s}", "id", term->id, "counter", term->counter,
                                      "write", term->write)
                         : NULL;
}

/* False: it is none. */
static bool term_from_value(const struct value *value, struct store_term *ret)
{
    const char *id = value_get_string(value, "id"), *write = value_get_string(value, "write");

    ret->counter = value_int(value_get(value, "counter"), 0);
    return ret->counter > 0 && id && write && str_copy(ret->id, sizeof(ret->id), id) &&
           str_copy(ret->write, sizeof(ret->write), write);
}

void store_identity_write(const struct store_identity *identity, struct buf *to)
{
    _cleanup_value_ const struct value *term = term_to_value(&identity->term);
    _cleanup_value_ const struct value *value =
        value_pack("{s:v?, s:s?, s:s?}", "term", term, "movedTo", identity->moved_to, "copiedFrom",
                   identity->copied_from);

    json_write(to, value, JSON_COMPACT);
}

void store_identity_parse(const struct buf *text, struct store_identity *ret)
{
    _cleanup_value_ const struct value *value = NULL;
    const struct value *term;

    *ret = (struct store_identity){0};
    if (json_read(text->data, text->length, &value, NULL) < 0) {
        ret->is_damaged = true;
        return;
    }
    term = value_get(value, "term");
    ret->moved_to = str_new(value_get_string(value, "movedTo"));
    ret->copied_from = str_new(value_get_string(value, "copiedFrom"));
    ret->is_damaged = term ? !term_from_value(term, &ret->term) : !ret->copied_from;
}

const struct value *store_claim_to_value(const struct store_claim *claim)
{
    _cleanup_free_ char *counter = str_printf("%lld", (long long)claim->term.counter);
    _cleanup_free_ char *next = str_printf("%lld", (long long)claim->next.counter);
    bool has = claim->term.counter, has_next = claim->next.counter;

    return value_pack("{s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?}", "id",
                      has ? claim->term.id : NULL, "counter", has ? counter : NULL, "write",
                      has ? claim->term.write : NULL, "nextId", has_next ? claim->next.id : NULL,
                      "nextCounter", has_next ? next : NULL, "nextWrite",
                      has_next ? claim->next.write : NULL, "accepted",
                      has_next && *claim->accepted ? claim->accepted : NULL);
}

/* A term without a counter is none. False: it is damaged. */
static bool read_term(const struct value *value, const char *id_key, const char *counter_key,
                      const char *write_key, struct store_term *ret)
{
    const char *id = value_get_string(value, id_key), *write = value_get_string(value, write_key);
    const char *counter = value_get_string(value, counter_key);

    if (!id && !write && !counter)
        return true;
    return id && write && counter && str_to_int64(counter, &ret->counter) && ret->counter > 0 &&
           str_copy(ret->id, sizeof(ret->id), id) &&
           str_copy(ret->write, sizeof(ret->write), write);
}

void store_claim_from_value(const struct value *value, struct store_claim *ret)
{
    const char *accepted = value_get_string(value, "accepted");

    *ret = (struct store_claim){0};
    ret->is_damaged = !read_term(value, "id", "counter", "write", &ret->term) ||
                      !read_term(value, "nextId", "nextCounter", "nextWrite", &ret->next) ||
                      (!ret->term.counter && !ret->next.counter) ||
                      (accepted && !str_copy(ret->accepted, sizeof(ret->accepted), accepted));
    if (ret->is_damaged)
        *ret = (struct store_claim){.is_damaged = true};
}

/* ---- Digests ---- */

static void add_term(struct hash *hash, const struct store_term *term)
{
    _cleanup_free_ char *counter = str_printf("%lld", (long long)term->counter);

    hash_add_str(hash, term->id);
    hash_add_str(hash, counter);
    hash_add_str(hash, term->write);
}

static void add_identity(struct hash *hash, const struct store_identity *identity,
                         const struct store_places *places)
{
    hash_add_str(hash, places->store);
    hash_add_str(hash, identity->is_damaged ? "damaged" : "");
    hash_add_str(hash, identity->moved_to ? identity->moved_to : "");
    hash_add_str(hash, identity->copied_from ? identity->copied_from : "");
    add_term(hash, &identity->term);
}

static void digest_of(const struct store_identity *identity, const struct store_places *places,
                      char ret[HASH_HEX_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    add_identity(hash, identity, places);
    hash_finish_hex(hash, ret);
}

void store_token(const struct store_identity *identity, const struct store_claim *claim,
                 const struct store_places *places, char ret[STORE_TOKEN_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    char hex[HASH_HEX_SIZE];

    add_identity(hash, identity, places);
    hash_add_str(hash, places->claim);
    hash_add_str(hash, claim->is_damaged ? "damaged" : "");
    hash_add_str(hash, claim->accepted);
    add_term(hash, &claim->term);
    add_term(hash, &claim->next);
    hash_finish_hex(hash, hex);
    memcpy(ret, hex, STORE_TOKEN_SIZE - 1);
    ret[STORE_TOKEN_SIZE - 1] = '\0';
}

/* ---- What to do ---- */

static bool is_accepted(const struct store_identity *identity, const struct store_claim *claim,
                        const struct store_places *places)
{
    char digest[HASH_HEX_SIZE];

    digest_of(identity, places, digest);
    return claim->next.counter && str_equal(claim->accepted, digest);
}

static void explain_ids(const struct store_identity *identity, const struct store_claim *claim,
                        const struct store_places *places, struct error *why)
{
    if (identity->copied_from)
        store_error(why, STORE_REPLACED, places->store,
                    "a copy from %s to it has not come to its end; make that copy again",
                    identity->copied_from);
    else if (identity->is_damaged)
        store_error(why, STORE_REPLACED, places->store,
                    "its identity is damaged, and cannot be compared with %s", places->claim);
    else if (claim->is_damaged)
        store_error(why, STORE_REPLACED, places->store,
                    "it cannot be compared with %s, which is damaged", places->claim);
    else if (!identity->term.counter)
        store_error(why, STORE_REPLACED, places->store,
                    "it has no identity, while %s remembers one: it is empty, or another place",
                    places->claim);
    else if (!claim->term.counter && !claim->next.counter)
        store_error(
            why, STORE_REPLACED, places->store,
            "it has an identity, while there is no %s: the store is of another operator, or "
            "the operator's record was deleted",
            places->claim);
    else
        store_error(
            why, STORE_REPLACED, places->store,
            "its identity is not the one that %s remembers: it is another store, or another "
            "operator has taken it",
            places->claim);
}

static void explain(const struct store_identity *identity, const struct store_claim *claim,
                    const struct store_places *places, struct error *why)
{
    const struct store_term *ours = claim->next.counter ? &claim->next : &claim->term;
    long long theirs = (long long)identity->term.counter;

    if (identity->moved_to)
        store_error(why, STORE_MOVED, places->store, "State is in %s now", identity->moved_to);
    else if (!identity->is_damaged && !identity->copied_from && ours->counter && theirs &&
             str_equal(ours->id, identity->term.id) && ours->counter != theirs)
        store_error(why, STORE_RESTORED, places->store,
                    "the store was begun %lld times, and by %s %lld times; a backup of one of the "
                    "two was restored",
                    theirs, places->claim, (long long)ours->counter);
    else
        explain_ids(identity, claim, places, why);
}

static void hint_token(const struct store_identity *identity, const struct store_claim *claim,
                       const struct store_places *places, struct error *why)
{
    char token[STORE_TOKEN_SIZE];

    store_token(identity, claim, places, token);
    err_hint(why, "if the store is as you want it, start the operator once with --accept-store=%s",
             token);
}

enum store_step store_step(const struct store_identity *identity, const struct store_claim *claim,
                           const struct store_places *places, struct error *why)
{
    bool is_sound = !identity->is_damaged && !identity->moved_to && !identity->copied_from &&
                    !claim->is_damaged;

    if (is_accepted(identity, claim, places))
        return STORE_STEP_STORE;
    if (is_sound && claim->next.counter && store_term_equal(&identity->term, &claim->next))
        return STORE_STEP_SETTLE;
    if (is_sound && store_term_equal(&identity->term, &claim->term))
        return claim->next.counter && !*claim->accepted ? STORE_STEP_STORE : STORE_STEP_RAISE;
    explain(identity, claim, places, why);
    hint_token(identity, claim, places, why);
    return STORE_STEP_REFUSED;
}

void store_claim_raise(struct store_claim *claim, const char *fresh_id, const char *fresh_write)
{
    claim->next = claim->term;
    claim->next.counter++;
    if (!claim->term.counter)
        str_copy(claim->next.id, sizeof(claim->next.id), fresh_id);
    str_copy(claim->next.write, sizeof(claim->next.write), fresh_write);
    *claim->accepted = '\0';
}

void store_claim_accept(struct store_claim *claim, const struct store_identity *identity,
                        const struct store_places *places, const char *fresh_id,
                        const char *fresh_write)
{
    int64_t counter = identity->term.counter;

    if (counter < claim->term.counter)
        counter = claim->term.counter;
    claim->next.counter = counter + 1;
    str_copy(claim->next.id, sizeof(claim->next.id), fresh_id);
    str_copy(claim->next.write, sizeof(claim->next.write), fresh_write);
    claim->is_damaged = false;
    digest_of(identity, places, claim->accepted);
}

void store_claim_settle(struct store_claim *claim)
{
    claim->term = claim->next;
    claim->next = (struct store_term){0};
    *claim->accepted = '\0';
}
