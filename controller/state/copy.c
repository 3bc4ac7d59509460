#include "controller/state/copy.h"

#include <stdlib.h>
#include <string.h>

#include "controller/state/private.h"
#include "engine/base/str.h"
#include "engine/state/codec.h"
#include "engine/store/identity_document.h"
#include "engine/store/names.h"
#include "engine/store/store_error.h"
#include "runtimes/seal/seal.h"

#define REFUSED "InvalidCopy"

struct copy {
    const struct state_side *from, *to;
    const struct store_call *call;
    struct names names; /* of the source's documents */
    struct state_copied *ret;
};

/* Of a side. */
static int about(const struct state_side *side, const struct error *problem, struct error *error)
{
    struct error told = *problem;

    store_error_explain(&told, side->place);
    return err_copy(error, &told);
}

/* ---- One document ---- */

/* As it is written to the target: what was appended becomes part of it. */
static int fold(const struct document_name *name, struct document *document, struct error *error)
{
    _cleanup_(state_free_p) struct state *state = NULL;
    struct document folded = DOCUMENT_INIT;
    int r;

    if (!document->n_entries || name->kind != DOCUMENT_STATE)
        return 0;
    r = state_decode(document, &state, error);
    if (r >= 0)
        r = state_encode(state, &folded, error);
    if (r < 0) {
        document_done(&folded);
        return r;
    }
    document_done(document);
    *document = folded;
    return 0;
}

static int load(const struct copy *copy, const struct document_name *name, struct document *ret,
                struct error *error)
{
    struct error problem = {0};
    int r = store_load(copy->from->store, name, copy->call, ret, &problem);

    if (r >= 0)
        r = fold(name, ret, &problem);
    if (r >= 0)
        return 0;
    if (r != ERR_NOT_FOUND) {
        _cleanup_free_ char *text = name_text(name);

        err_wrap(&problem, "%s", text);
    }
    return about(copy->from, &problem, error);
}

static bool same(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && (!a->length || memcmp(a->data, b->data, a->length) == 0);
}

static bool is_equal(const struct document *a, const struct document *b)
{
    return same(&a->open, &b->open) && same(&a->secret, &b->secret) && a->n_entries == b->n_entries;
}

/* It is sealed with a key that is gone since, or has never been sealed. */
bool copy_is_locked(int r, const struct error *problem)
{
    return r == ERR_UNAVAILABLE && (str_equal(problem->reason, SEAL_MISSING) ||
                                    str_equal(problem->reason, SEAL_NOT_SEALED));
}

static int open_and_read(struct store *store, const struct document_name *name,
                         const struct store_call *call, struct store_file **ret,
                         struct document *ret_there, struct error *error)
{
    int r = store->ops->open(store, name, STORE_WRITE, call, ret, error);

    return r < 0 ? r : store->ops->read(*ret, call, ret_there, error);
}

/* What the target has of another time is of no worth. A sealed store neither replaces nor removes
 * what it cannot read, so that is removed from the store below it. */
static int open_there(const struct copy *copy, const struct document_name *name,
                      struct store_file **ret, struct document *ret_there, struct error *error)
{
    struct store *store = copy->to->store;
    int r = open_and_read(store, name, copy->call, ret, ret_there, error);

    if (!copy_is_locked(r, error))
        return r;
    store->ops->close(*ret);
    *ret = NULL;
    err_clear(error);
    r = store_drop(copy->to->base, name, copy->call, error);
    return r < 0 ? r : open_and_read(store, name, copy->call, ret, ret_there, error);
}

static int write_if_other(const struct copy *copy, const struct document_name *name,
                          const struct document *document, struct error *error)
{
    struct store *store = copy->to->store;
    struct document there = DOCUMENT_INIT;
    struct store_file *file = NULL;
    struct error problem = {0};
    int r = open_there(copy, name, &file, &there, &problem);

    if (r == ERR_NOT_FOUND || r == ERR_CORRUPT || (r >= 0 && !is_equal(&there, document))) {
        err_clear(&problem);
        r = store->ops->write(file, copy->call, document, &problem);
        copy->ret->written += r >= 0;
    }
    document_done(&there);
    store->ops->close(file);
    return r < 0 ? about(copy->to, &problem, error) : 0;
}

static int copy_document(const struct copy *copy, const struct document_name *name,
                         struct error *error)
{
    struct document document = DOCUMENT_INIT;
    struct error problem = {0};
    int r = load(copy, name, &document, &problem);

    if (r >= 0)
        r = write_if_other(copy, name, &document, &problem);
    document_done(&document);
    copy->ret->documents += r >= 0;
    if (r == ERR_NOT_FOUND) /* its removal has begun */
        r = store_drop(copy->to->base, name, copy->call, error);
    else if (r < 0)
        err_copy(error, &problem);
    return r;
}

/* ---- All of them ---- */

static int list_all(struct copy *copy, const struct state_side *side, struct names *ret,
                    struct error *error)
{
    /* Releases are copied as documents only from documents. */
    bool with_releases = copy->from->has_releases && copy->to->has_releases;
    struct error problem = {0};
    int r = 0;

    for (enum document_kind kind = 0; kind < DOCUMENT_KINDS && r >= 0; kind++)
        if (kind != DOCUMENT_STORE && (kind != DOCUMENT_RELEASE || with_releases))
            r = names_list(ret, side->store, kind, copy->call, &problem);
    return r < 0 ? about(side, &problem, error) : 0;
}

static int remove_rest(struct copy *copy, struct error *error)
{
    _cleanup_(names_done) struct names there = NAMES_INIT;
    int r = list_all(copy, copy->to, &there, error);

    for (size_t i = 0; i < there.count && r >= 0; i++) {
        struct error problem = {0};

        if (names_has(&copy->names, &there.items[i]))
            continue;
        r = store_drop(copy->to->base, &there.items[i], copy->call, &problem);
        copy->ret->removed += r >= 0;
        if (r < 0)
            about(copy->to, &problem, error);
    }
    return r;
}

static int copy_all(struct copy *copy, struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < copy->names.count && r >= 0; i++)
        r = copy_document(copy, &copy->names.items[i], error);
    if (r >= 0)
        r = remove_rest(copy, error);
    if (r >= 0 && copy->to->has_releases && !copy->from->has_releases)
        r = copy_remove_stale_releases(copy->from, copy->to, copy->call, &copy->ret->removed,
                                       error);
    if (r >= 0 && copy->from->has_releases != copy->to->has_releases)
        r = copy_releases(copy->from, copy->to, copy->call, &copy->names, &copy->ret->releases,
                          error);
    return r;
}

static int verify_document(const struct copy *copy, const struct document_name *name,
                           struct error *error)
{
    struct document expected = DOCUMENT_INIT, there = DOCUMENT_INIT;
    struct error problem = {0};
    int r = load(copy, name, &expected, &problem);

    if (r >= 0) {
        r = store_load(copy->to->store, name, copy->call, &there, &problem);
        if (r >= 0 && !is_equal(&expected, &there))
            r = err_set(&problem, ERR_CORRUPT, "StateCorrupt", "it is not as it was written");
        if (r < 0) {
            _cleanup_free_ char *text = name_text(name);

            err_wrap(&problem, "reading back %s from %s", text, copy->to->place);
        }
    } else if (r == ERR_NOT_FOUND) {
        r = 0;
    }
    document_done(&expected);
    document_done(&there);
    return r < 0 ? err_copy(error, &problem) : 0;
}

/* ---- The two identities ---- */

/* A store side by side with its identity, open to write. */
struct side {
    const struct state_side *of;
    struct store_file *file;
    struct store_identity identity;
};

static int open_side(const struct copy *copy, struct side *side, struct error *error)
{
    struct error problem = {0};

    return store_identity_open(side->of->base, copy->call, &side->file, &side->identity, &problem) <
                   0
               ? about(side->of, &problem, error)
               : 0;
}

static void close_side(struct side *side)
{
    side->of->base->ops->close(side->file);
    store_identity_done(&side->identity);
}

static int put(const struct copy *copy, const struct side *side,
               const struct store_identity *identity, struct error *error)
{
    struct error problem = {0};

    return store_identity_put(side->file, copy->call, identity, &problem) < 0
               ? about(side->of, &problem, error)
               : 0;
}

static int check_source(const struct side *from, struct error *error)
{
    const struct store_identity *identity = &from->identity;
    const char *place = from->of->place;

    if (identity->is_damaged)
        return err_set(error, ERR_CORRUPT, "StateCorrupt", "the identity of %s is damaged", place);
    if (identity->copied_from)
        return err_set(error, ERR_INVALID, REFUSED,
                       "%s is itself a copy from %s that has not come to its end", place,
                       identity->copied_from);
    if (!identity->term.counter)
        return err_set(error, ERR_INVALID, REFUSED,
                       "%s has no identity: no operator of this version has used it as its store",
                       place);
    return identity->moved_to
               ? store_error(error, STORE_MOVED, place, "State is in %s now", identity->moved_to)
               : 0;
}

static int check_empty(struct copy *copy, const struct side *to, struct error *error)
{
    _cleanup_(names_done) struct names there = NAMES_INIT;
    int r = list_all(copy, to->of, &there, error);

    if (r >= 0 && there.count)
        r = err_set(error, ERR_INVALID, REFUSED,
                    "%s is not empty: it has %zu documents, and no identity", to->of->place,
                    there.count);
    return r;
}

/* It is empty, or this very copy was begun, or State comes back to where it was, or an earlier copy
 * had come to its end but for the mark in the source. */
static int check_target(struct copy *copy, const struct side *from, const struct side *to,
                        struct error *error)
{
    const struct store_identity *identity = &to->identity;
    bool is_of_source = str_equal(identity->term.id, from->identity.term.id);

    if (str_equal(identity->copied_from, from->of->place))
        return 0;
    if (identity->copied_from || identity->is_damaged)
        return err_set(error, ERR_INVALID, REFUSED, "%s is %s%s: empty it first", to->of->place,
                       identity->copied_from ? "half a copy from " : "damaged",
                       identity->copied_from ? identity->copied_from : "");
    if (!identity->term.counter)
        return check_empty(copy, to, error);
    if (is_of_source && identity->moved_to)
        return 0;
    if (is_of_source && identity->term.counter <= from->identity.term.counter)
        return 0;
    return err_set(error, ERR_INVALID, REFUSED, "%s is %s: empty it first", to->of->place,
                   is_of_source ? "newer than the source" : "the store of another operator");
}

/* An earlier copy had come to its very end. */
static bool is_done(const struct side *from, const struct side *to)
{
    return str_equal(from->identity.moved_to, to->of->place) && !to->identity.copied_from &&
           !to->identity.moved_to && !to->identity.is_damaged &&
           str_equal(from->identity.term.id, to->identity.term.id) &&
           from->identity.term.counter <= to->identity.term.counter;
}

static int move(struct copy *copy, const struct side *from, const struct side *to,
                struct error *error)
{
    const struct store_identity begun = {.copied_from = (char *)(uintptr_t)from->of->place},
                                whole = {.term = from->identity.term},
                                moved = {.term = from->identity.term,
                                         .moved_to = (char *)(uintptr_t)to->of->place};
    int r = put(copy, to, &begun, error);

    if (r >= 0)
        r = list_all(copy, from->of, &copy->names, error);
    if (r >= 0)
        r = copy_all(copy, error);
    for (size_t i = 0; i < copy->names.count && r >= 0; i++)
        r = verify_document(copy, &copy->names.items[i], error);
    if (r >= 0)
        r = put(copy, to, &whole, error);
    return r < 0 ? r : put(copy, from, &moved, error);
}

static int check_and_move(struct copy *copy, const struct side *from, const struct side *to,
                          struct error *error)
{
    int r;

    if (is_done(from, to)) {
        copy->ret->was_done = true;
        return 0;
    }
    r = check_source(from, error);
    if (r >= 0)
        r = check_target(copy, from, to, error);
    return r < 0 ? r : move(copy, from, to, error);
}

int copy_state(const struct state_side *from, const struct state_side *to,
               const struct store_call *call, struct state_copied *ret, struct error *error)
{
    struct copy copy = {.from = from, .to = to, .call = call, .names = NAMES_INIT, .ret = ret};
    struct side source = {.of = from}, target = {.of = to};
    int r;

    *ret = (struct state_copied){0};
    if (str_equal(from->place, to->place))
        return err_set(error, ERR_INVALID, REFUSED, "%s is both source and target", from->place);
    r = open_side(&copy, &source, error);
    if (r >= 0)
        r = open_side(&copy, &target, error);
    if (r >= 0)
        r = check_and_move(&copy, &source, &target, error);
    close_side(&target);
    close_side(&source);
    names_done(&copy.names);
    return r;
}
