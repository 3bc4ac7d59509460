#include "engine/release/document_history.h"

#include <stdio.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/state/compress.h"
#include "engine/value/json.h"

#define FORMAT          1
#define REVISION_SIZE   24 /* bytes of a revision as text */
#define GZIP_FIRST_BYTE 0x1f

struct document_history {
    struct release_history base;
    struct store *store;
};

/* ---- Records as documents ---- */

struct record {
    struct release_head head;
    int64_t written;              /* count of writes */
    const struct value *status;   /* a reference, or NULL; head.resources likewise */
    char *spec_uid, *spec_digest; /* owned: what the head's borrow; or NULL */
};

static void record_done(struct record *record)
{
    value_unref(record->status);
    value_unref(record->head.resources);
    free(record->spec_uid);
    free(record->spec_digest);
}

static int encode(const struct record *record, struct document *ret, struct error *error)
{
    const struct release_head *head = &record->head;
    _cleanup_value_ const struct value *value =
        value_pack("{s:i, s:{s:s, s:s, s:s?, s:s?, s:v?}, s:I, s:I, s:s, s:I, s:I, s:v?}", "format",
                   FORMAT, "spec", "namespace", head->spec.namespace_name, "name", head->spec.name,
                   "uid", head->spec_uid, "digest", head->spec_digest, "resources", head->resources,
                   "revision", head->revision, "generation", head->generation, "operation",
                   release_operation_name(head->operation), "toRevision", head->to_revision,
                   "written", record->written, "status", record->status);

    if (!value)
        return err_set(error, ERR_TOO_LARGE, "ReleaseTooLarge", "the status is too large");
    json_write(&ret->open, value, JSON_COMPACT);
    if (buf_overflowed(&ret->open))
        return err_set(error, ERR_TOO_LARGE, "ReleaseTooLarge", "the record is too large");
    return 0;
}

static void version_of(const struct document *document, char ret[HASH_HEX_SIZE])
{
    hash_hex(document->open.data, document->open.length, ret);
}

static int corrupt(struct error *error, const char *how)
{
    return err_set(error, ERR_CORRUPT, "ReleaseCorrupt", "the record is damaged: %s", how);
}

/* As JSON, or as gzipped JSON, which earlier versions wrote. */
static int parse(const struct buf *open, const struct value **ret, struct error *error)
{
    struct error problem = {0};

    if (open->length && open->data[0] == GZIP_FIRST_BYTE)
        return value_expand(open->data, open->length, ret, error);
    if (json_read(open->data, open->length, ret, &problem) < 0)
        return corrupt(error, problem.message);
    return 0;
}

/* *ret: borrows the key of `of`; record_done(). */
static int decode(const struct document *document, const struct release_head *of,
                  struct record *ret, struct error *error)
{
    _cleanup_value_ const struct value *value = NULL;
    const struct value *spec;
    struct record record = {.head = {.spec = of->spec}};
    int r = parse(&document->open, &value, error);

    if (r < 0)
        return r;
    if (value_int(value_get(value, "format"), 0) != FORMAT)
        return corrupt(error, "it is of another version's format");
    spec = value_get(value, "spec");
    record.head.revision = value_int(value_get(value, "revision"), 0);
    if (!str_equal(value_get_string(spec, "namespace"), of->spec.namespace_name) ||
        !str_equal(value_get_string(spec, "name"), of->spec.name) ||
        record.head.revision != of->revision)
        return corrupt(error, "it is of another release");
    if (!release_operation_parse(value_get_string(value, "operation"), &record.head.operation))
        return corrupt(error, "it does not say which operation it is of");
    record.head.generation = value_int(value_get(value, "generation"), 0);
    record.written = value_int(value_get(value, "written"), 0);
    record.status = value_ref(value_get(value, "status"));
    record.head.phase = release_status_phase(record.status);
    record.head.to_revision = value_int(value_get(value, "toRevision"), 0);
    record.spec_uid = str_new(value_get_string(spec, "uid"));
    record.head.spec_uid = record.spec_uid;
    record.spec_digest = str_new(value_get_string(spec, "digest"));
    record.head.spec_digest = record.spec_digest;
    record.head.resources = value_ref(value_get(spec, "resources"));
    *ret = record;
    return 0;
}

/* ---- One document ---- */

struct opened {
    struct store_file *file;
    struct document document; /* as it was read */
    char item[REVISION_SIZE];
};

static void opened_done(struct opened *opened)
{
    if (opened->file)
        opened->file->store->ops->close(opened->file);
    document_done(&opened->document);
}

static int document_open(struct release_history *base, const struct release_head *of,
                         enum store_mode mode, const struct store_call *call, struct opened *ret,
                         struct error *error)
{
    struct store *store = ((struct document_history *)base)->store;
    struct document_name name = {DOCUMENT_RELEASE, of->spec, ret->item};

    snprintf(ret->item, sizeof(ret->item), "%lld", (long long)of->revision);
    return store->ops->open(store, &name, mode, call, &ret->file, error);
}

static int document_read(struct opened *opened, const struct store_call *call, struct error *error)
{
    return opened->file->store->ops->read(opened->file, call, &opened->document, error);
}

/* Replaces the document that was read with a record. */
static int document_put(struct opened *opened, const struct record *record,
                        const struct store_call *call, char **ret_version, struct error *error)
{
    _cleanup_(document_done) struct document document = DOCUMENT_INIT;
    char version[HASH_HEX_SIZE];
    int r = encode(record, &document, error);

    if (r == 0)
        r = opened->file->store->ops->write(opened->file, call, &document, error);
    if (r == 0) {
        version_of(&document, version);
        *ret_version = str_new(version);
    }
    return r;
}

/* Copies the problem and adds the record's place to its message. */
static int about(struct error *error, const struct error *problem, const struct release_head *head)
{
    err_copy(error, problem);
    err_wrap(error, "release %lld of %s/%s", (long long)head->revision, head->spec.namespace_name,
             head->spec.name);
    return problem->code;
}

static int absent(struct error *error)
{
    return err_set(error, ERR_NOT_FOUND, NULL, "there is no such record");
}

/* ---- The table ---- */

static void history_free(struct release_history *base)
{
    free(base);
}

static int history_create(struct release_history *base, const struct release_head *head,
                          const struct store_call *call, char **ret_version, struct error *error)
{
    const struct record record = {.head = *head, .written = 1};
    _cleanup_(opened_done) struct opened opened = {.document = DOCUMENT_INIT};
    struct error problem = {0};
    int r;

    if (!release_revision_is_valid(head->revision))
        return err_set(error, ERR_INVALID, NULL, "%lld is no revision", (long long)head->revision);
    r = document_open(base, head, STORE_WRITE, call, &opened, &problem);
    if (r < 0)
        return about(error, &problem, head);
    r = document_put(&opened, &record, call, ret_version, &problem);
    if (r == ERR_CONFLICT)
        r = err_set(&problem, ERR_EXISTS, NULL, "the revision is taken");
    return r < 0 ? about(error, &problem, head) : 0;
}

/* Checks that the record has this version and may be changed. */
static int check(struct opened *opened, const struct release_head *of, const char *version,
                 const struct store_call *call, struct record *ret, struct error *error)
{
    char now[HASH_HEX_SIZE];
    int r = document_read(opened, call, error);

    if (r < 0)
        return r;
    version_of(&opened->document, now);
    r = decode(&opened->document, of, ret, error);
    if (r < 0)
        return r;
    if (release_phase_is_terminal(ret->head.phase))
        return err_set(error, ERR_CONFLICT, "ReleaseEnded", "it has ended: %s",
                       release_phase_name(ret->head.phase));
    if (!str_equal(now, version))
        return err_set(error, ERR_CONFLICT, NULL, "it was changed meanwhile");
    return 0;
}

static int history_update(struct release_history *base, const struct release_record *record,
                          const struct store_call *call, char **version, struct error *error)
{
    _cleanup_(opened_done) struct opened opened = {.document = DOCUMENT_INIT};
    struct record now = {.status = NULL};
    struct error problem = {0};
    char *after = NULL;
    int r = release_revision_is_valid(record->head.revision) ? 0 : absent(&problem);

    if (r == 0)
        r = document_open(base, &record->head, STORE_WRITE, call, &opened, &problem);
    if (r == 0)
        r = check(&opened, &record->head, *version, call, &now, &problem);
    if (r == 0) {
        value_assign(&now.status, record->status);
        now.written++;
        r = document_put(&opened, &now, call, &after, &problem);
    }
    record_done(&now);
    if (r < 0)
        return about(error, &problem, &record->head);
    free(*version);
    *version = after;
    return 0;
}

static int load_one(struct release_history *base, const struct release_head *of,
                    const struct store_call *call, struct release_record **ret, char **ret_version,
                    struct error *error)
{
    _cleanup_(opened_done) struct opened opened = {.document = DOCUMENT_INIT};
    char version[HASH_HEX_SIZE];
    struct record record;
    int r = release_revision_is_valid(of->revision) ? 0 : absent(error);

    if (r == 0)
        r = document_open(base, of, STORE_READ, call, &opened, error);
    if (r == 0)
        r = document_read(&opened, call, error);
    if (r == 0)
        r = decode(&opened.document, of, &record, error);
    if (r < 0)
        return r;
    version_of(&opened.document, version);
    *ret = release_record_new(&of->spec, of->revision);
    record.head.spec = (*ret)->head.spec;
    (*ret)->head = record.head;
    (*ret)->status = record.status;
    (*ret)->head.spec_uid = record.spec_uid;
    (*ret)->head.spec_digest = record.spec_digest;
    *ret_version = str_new(version);
    return 0;
}

/* ---- Lists ---- */

struct revisions {
    int64_t *items;
    size_t count, capacity;
};

static void revisions_done(struct revisions *revisions)
{
    free(revisions->items);
}

static int add_revision(void *arg, const struct document_name *name, struct error *error)
{
    struct revisions *revisions = arg;
    int64_t revision;

    (void)error;
    if (!release_revision_parse(name->item, &revision))
        return 0;
    revisions->items = mem_grow(revisions->items, revisions->count, &revisions->capacity,
                                sizeof(*revisions->items));
    revisions->items[revisions->count++] = revision;
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return left > right ? -1 : left < right;
}

static int find_revisions(struct release_history *base, const struct spec_key *spec,
                          const struct store_call *call, struct revisions *ret, struct error *error)
{
    struct store *store = ((struct document_history *)base)->store;
    int r = store->ops->list(store, DOCUMENT_RELEASE, spec, add_revision, ret, call, error);

    if (r < 0)
        err_wrap(error, "releases of %s/%s", spec->namespace_name, spec->name);
    else if (ret->count)
        qsort(ret->items, ret->count, sizeof(*ret->items), newest_first);
    return r;
}

/* As a list has it: its digest names a document. */
static struct release_head listed(const struct release_head *head)
{
    struct release_head result = *head;

    if (head->resources)
        result.spec_digest = NULL;
    result.resources = NULL;
    return result;
}

/* A record that is removed during the listing is skipped. */
static int history_list(struct release_history *base, const struct spec_key *spec,
                        release_on_head *fn, void *arg, const struct store_call *call,
                        struct error *error)
{
    _cleanup_(revisions_done) struct revisions revisions = {0};
    int r = find_revisions(base, spec, call, &revisions, error);

    for (size_t i = 0; i < revisions.count && r == 0; i++) {
        _cleanup_(release_record_free_p) struct release_record *record = NULL;
        const struct release_head head = {.spec = *spec, .revision = revisions.items[i]};
        _cleanup_free_ char *version = NULL;
        struct release_head found;
        struct error problem = {0};

        r = load_one(base, &head, call, &record, &version, &problem);
        if (r == 0)
            found = listed(&record->head);
        if (r == 0)
            r = fn(arg, &found, error);
        else
            r = r == ERR_NOT_FOUND ? 0 : about(error, &problem, &head);
    }
    return r;
}

static int load_newest(struct release_history *base, const struct spec_key *spec,
                       const struct store_call *call, struct release_record **ret,
                       char **ret_version, struct error *error)
{
    _cleanup_(revisions_done) struct revisions revisions = {0};
    int r = find_revisions(base, spec, call, &revisions, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < revisions.count; i++) {
        const struct release_head head = {.spec = *spec, .revision = revisions.items[i]};
        struct error problem = {0};

        r = load_one(base, &head, call, ret, ret_version, &problem);
        if (r != ERR_NOT_FOUND)
            return r < 0 ? about(error, &problem, &head) : 0;
    }
    return err_set(error, ERR_NOT_FOUND, NULL, "%s/%s has no releases", spec->namespace_name,
                   spec->name);
}

static int history_load(struct release_history *base, const struct spec_key *spec, int64_t revision,
                        const struct store_call *call, struct release_record **ret,
                        char **ret_version, struct error *error)
{
    const struct release_head head = {.spec = *spec, .revision = revision};
    struct error problem = {0};
    int r;

    if (revision == 0)
        return load_newest(base, spec, call, ret, ret_version, error);
    r = load_one(base, &head, call, ret, ret_version, &problem);
    return r < 0 ? about(error, &problem, &head) : 0;
}

/* A record that cannot be read has ended for all purposes. */
static int check_ended(struct opened *opened, const struct release_head *of, struct error *error)
{
    struct record record = {.status = NULL};
    bool is_under_way = decode(&opened->document, of, &record, NULL) == 0 &&
                        !release_phase_is_terminal(record.head.phase);

    record_done(&record);
    return is_under_way ? err_set(error, ERR_CONFLICT, "ReleaseNotEnded", "it has not ended yet")
                        : 0;
}

static int history_remove(struct release_history *base, const struct spec_key *spec,
                          int64_t revision, enum release_removal how, const struct store_call *call,
                          struct error *error)
{
    const struct release_head head = {.spec = *spec, .revision = revision};
    _cleanup_(opened_done) struct opened opened = {.document = DOCUMENT_INIT};
    struct error problem = {0};
    int r;

    if (!release_revision_is_valid(revision))
        return 0;
    r = document_open(base, &head, STORE_WRITE, call, &opened, &problem);
    if (r < 0)
        return about(error, &problem, &head);
    r = document_read(&opened, call, &problem);
    if (r == 0 && how == RELEASE_IF_ENDED)
        r = check_ended(&opened, &head, &problem);
    if (r == 0 || r == ERR_NOT_FOUND || r == ERR_CORRUPT) {
        err_clear(&problem);
        r = opened.file->store->ops->remove(opened.file, call, &problem);
    }
    return r < 0 ? about(error, &problem, &head) : 0;
}

static const struct release_history_ops ops = {
    .type = "documents",
    .free = history_free,
    .create = history_create,
    .update = history_update,
    .load = history_load,
    .list = history_list,
    .remove = history_remove,
};

struct release_history *document_history_new(struct store *store)
{
    struct document_history *history = NEW(struct document_history);

    history->base.ops = &ops;
    history->store = store;
    return &history->base;
}
