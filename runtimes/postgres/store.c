#include "runtimes/postgres/store.h"

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/random.h"
#include "runtimes/postgres/private.h"

/* Of a document; more have to be folded into it. */
#define ENTRIES_BYTES (32u << 20)

#define KEY "kind = $1 AND namespace = $2 AND name = $3 AND item = $4"

/* Each returns a row if it changed the document. Entries of a write before are dropped with it. */
#define CREATE                                                                          \
    "INSERT INTO kusion.document (kind, namespace, name, item, version, base, entries," \
    " open, open_sha256, secret, secret_sha256, written)"                               \
    " VALUES ($1, $2, $3, $4, $5, $5, 0, $6, $7, $8, $9, pg_catalog.clock_timestamp())" \
    " ON CONFLICT DO NOTHING RETURNING 1"
#define REPLACE                                                                         \
    "WITH changed AS (UPDATE kusion.document SET version = $5, base = $5, entries = 0," \
    " open = $6, open_sha256 = $7, secret = $8, secret_sha256 = $9,"                    \
    " written = pg_catalog.clock_timestamp()"                                           \
    " WHERE " KEY " AND version = $10 RETURNING 1),"                                    \
    " dropped AS (DELETE FROM kusion.entry WHERE base = $11"                            \
    " AND EXISTS (SELECT FROM changed)) SELECT 1 FROM changed"
#define APPEND                                                                         \
    "WITH changed AS (UPDATE kusion.document SET version = $5, entries = entries + 1," \
    " written = pg_catalog.clock_timestamp()"                                          \
    " WHERE " KEY " AND version = $6 RETURNING base, entries)"                         \
    " INSERT INTO kusion.entry (base, number, bytes, bytes_sha256)"                    \
    " SELECT base, entries, $7, $8 FROM changed RETURNING 1"
#define REMOVE                                                                                  \
    "WITH changed AS (DELETE FROM kusion.document WHERE " KEY " AND version = $5 RETURNING 1)," \
    " dropped AS (DELETE FROM kusion.entry WHERE base = $6"                                     \
    " AND EXISTS (SELECT FROM changed)) SELECT 1 FROM changed"
#define LIST_ALL  "SELECT namespace, name, item FROM kusion.document WHERE kind = $1"
#define LIST_SPEC LIST_ALL " AND namespace = $2 AND name = $3"
/* Those of a document whose row was changed by hand. */
#define TIDY                                    \
    "DELETE FROM kusion.entry WHERE NOT EXISTS" \
    " (SELECT FROM kusion.document WHERE document.base = entry.base) RETURNING 1"

static struct postgres_pool *pool_of(const struct postgres_document *file)
{
    return ((struct postgres_store *)file->base.store)->pool;
}

static void draw_uuid(char ret[POSTGRES_UUID_SIZE])
{
    unsigned char b[16];

    random_fill(b, sizeof(b));
    snprintf(ret, POSTGRES_UUID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

/* ---- Changes ---- */

static int change(struct postgres_document *file, const struct store_call *call,
                  const struct postgres_statement *statement, const char *doing,
                  struct error *error)
{
    bool is_done = false;
    int r = postgres_change(pool_of(file), call, statement, doing, &is_done, error);

    if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT)
        file->is_in_doubt = true;
    return r == 0 && !is_done ? store_changed(&file->name.name, error) : r;
}

static void digest_of(const void *bytes, size_t length, unsigned char ret[HASH_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new();

    hash_add(hash, bytes, length);
    hash_finish(hash, ret);
}

static void add_part(struct postgres_statement *statement, const struct buf *part,
                     unsigned char digest[HASH_SIZE])
{
    digest_of(part->data, part->length, digest);
    postgres_add_bytes(statement, part->data, part->length);
    postgres_add_bytes(statement, digest, HASH_SIZE);
}

static int store_write(struct store_file *base, const struct store_call *call,
                       const struct document *document, struct error *error)
{
    struct postgres_document *file = (struct postgres_document *)base;
    struct postgres_statement statement = {.sql = file->exists ? REPLACE : CREATE};
    unsigned char open[HASH_SIZE], secret[HASH_SIZE];
    char version[POSTGRES_UUID_SIZE];
    int r = store_check_change(file->mode, call, error);

    if (r < 0)
        return r;
    draw_uuid(version);
    postgres_add_key(&statement, &file->name.name);
    postgres_add_text(&statement, version);
    add_part(&statement, &document->open, open);
    add_part(&statement, &document->secret, secret);
    if (file->exists) {
        postgres_add_text(&statement, file->version);
        postgres_add_text(&statement, file->base_version);
    }
    r = change(file, call, &statement, "writing kusion.document", error);
    if (r < 0)
        return r;
    postgres_document_forget(file);
    file->exists = true;
    str_copy(file->version, sizeof(file->version), version);
    str_copy(file->base_version, sizeof(file->base_version), version);
    return 0;
}

/* Whether a document can be created: waits for what is under way. */
static int try_create(struct postgres_document *file, const struct store_call *call,
                      const char *doing, bool *ret_is_possible, struct error *error)
{
    struct postgres_statement statement = {.sql = CREATE};
    const struct buf nothing = BUF_INIT;
    unsigned char open[HASH_SIZE], secret[HASH_SIZE];
    char version[POSTGRES_UUID_SIZE];

    draw_uuid(version);
    postgres_add_key(&statement, &file->name.name);
    postgres_add_text(&statement, version);
    add_part(&statement, &nothing, open);
    add_part(&statement, &nothing, secret);
    return postgres_try(pool_of(file), call, &statement, doing, ret_is_possible, error);
}

static int store_append(struct store_file *base, const struct store_call *call, const void *bytes,
                        size_t length, struct error *error)
{
    struct postgres_document *file = (struct postgres_document *)base;
    struct postgres_statement statement = {.sql = APPEND};
    unsigned char digest[HASH_SIZE];
    char version[POSTGRES_UUID_SIZE];
    bool is_absent = false;
    int r = store_check_change(file->mode, call, error);

    if (r == 0 && !file->exists)
        r = try_create(file, call, "appending to kusion.document", &is_absent, error);
    if (r < 0)
        return r;
    if (!file->exists)
        return is_absent ? err_set(error, ERR_NOT_FOUND, NULL, "there is no document to append to")
                         : store_changed(&file->name.name, error);
    if (file->is_damaged)
        return err_set(error, ERR_CORRUPT, STORE_CORRUPT,
                       "the document is damaged: it can be rewritten, but not appended to");
    if (length > ENTRIES_BYTES || file->entry_bytes > ENTRIES_BYTES - length)
        return err_set(error, ERR_TOO_LARGE, NULL,
                       "there is no room for another entry until the document is rewritten");
    draw_uuid(version);
    digest_of(bytes, length, digest);
    postgres_add_key(&statement, &file->name.name);
    postgres_add_text(&statement, version);
    postgres_add_text(&statement, file->version);
    postgres_add_bytes(&statement, bytes, length);
    postgres_add_bytes(&statement, digest, HASH_SIZE);
    r = change(file, call, &statement, "appending to kusion.entry", error);
    if (r < 0)
        return r;
    str_copy(file->version, sizeof(file->version), version);
    file->entry_bytes += length;
    return 0;
}

static int store_remove(struct store_file *base, const struct store_call *call, struct error *error)
{
    struct postgres_document *file = (struct postgres_document *)base;
    struct postgres_statement statement = {.sql = REMOVE};
    bool is_absent = false;
    int r = store_check_change(file->mode, call, error);

    if (r == 0 && !file->exists) {
        r = try_create(file, call, "removing from kusion.document", &is_absent, error);
        return r == 0 && !is_absent ? store_changed(&file->name.name, error) : r;
    }
    if (r < 0)
        return r;
    postgres_add_key(&statement, &file->name.name);
    postgres_add_text(&statement, file->version);
    postgres_add_text(&statement, file->base_version);
    r = change(file, call, &statement, "removing from kusion.document", error);
    if (r == 0)
        postgres_document_forget(file);
    return r;
}

/* ---- Reading ---- */

static int store_read(struct store_file *base, const struct store_call *call, struct document *ret,
                      struct error *error)
{
    struct postgres_document *file = (struct postgres_document *)base;
    bool is_absent;
    int r = store_check_cancel(call, error);

    if (r == 0 && file->is_in_doubt)
        r = try_create(file, call, "reading kusion.document", &is_absent, error);
    if (r < 0)
        return r;
    file->is_in_doubt = false;
    return postgres_document_read(file, call, ret, error);
}

static int pass_on(const PGresult *rows, enum document_kind kind, store_on_name *fn, void *arg,
                   struct error *error)
{
    int r = 0;

    for (int i = 0; r == 0 && i < PQntuples(rows); i++) {
        const char *item = PQgetvalue(rows, i, 2);
        const struct document_name name = {
            kind, {PQgetvalue(rows, i, 0), PQgetvalue(rows, i, 1)}, *item ? item : NULL};

        r = fn(arg, &name, error);
    }
    return r;
}

static int store_list(struct store *base, enum document_kind kind, const struct spec_key *spec,
                      store_on_name *fn, void *arg, const struct store_call *call,
                      struct error *error)
{
    struct postgres_store *store = (struct postgres_store *)base;
    struct postgres_statement statement = {.sql = spec ? LIST_SPEC : LIST_ALL, .columns = 3};
    PGresult *rows = NULL;
    int r = store_check_cancel(call, error);

    if (r < 0)
        return r;
    postgres_add_text(&statement, document_kind_name(kind));
    if (spec) {
        postgres_add_text(&statement, spec->namespace_name);
        postgres_add_text(&statement, spec->name);
    }
    r = postgres_select(store->pool, call, &statement, "listing kusion.document", &rows, error);
    if (r == 0)
        r = pass_on(rows, kind, fn, arg, error);
    PQclear(rows);
    return r;
}

static int store_tidy(struct store *base, const struct store_call *call, struct error *error)
{
    struct postgres_store *store = (struct postgres_store *)base;
    const struct postgres_statement statement = {.sql = TIDY};
    bool is_done;

    return postgres_change(store->pool, call, &statement, "tidying kusion.entry", &is_done, error);
}

/* ---- The rest of the table ---- */

static int store_open(struct store *base, const struct document_name *name, enum store_mode mode,
                      const struct store_call *call, struct store_file **ret, struct error *error)
{
    struct postgres_document *file = NEW(struct postgres_document);

    (void)call;
    (void)error;
    file->base.store = base;
    own_name_copy(&file->name, name);
    file->mode = mode;
    *ret = &file->base;
    return 0;
}

static void store_close(struct store_file *base)
{
    struct postgres_document *file = (struct postgres_document *)base;

    if (!file)
        return;
    own_name_done(&file->name);
    free(file);
}

static char *store_describe(struct store *base, const struct document_name *name)
{
    return postgres_document_describe(&((struct postgres_store *)base)->place, name);
}

/* Adds a text in quotes; a quote in it becomes `escaped`. */
static void add_quoted(struct buf *to, const char *text, const char *escaped)
{
    buf_add_char(to, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_add_str(to, escaped);
        else
            buf_add_char(to, *text);
    }
    buf_add_char(to, '\'');
}

/* psql 'host=…' -c 'DELETE …', quoted for SQL and then for the shell. */
static char *store_removal(struct store *base, const struct document_name *name)
{
    const struct postgres_place *place = &((struct postgres_store *)base)->place;
    _cleanup_buf_ struct buf command = BUF_INIT, sql = BUF_INIT;
    _cleanup_free_ char *where = str_printf("host=%s port=%s dbname=%s user=%s", place->host,
                                            place->port, place->database, place->user);

    buf_printf(&sql, "DELETE FROM kusion.document WHERE kind='%s' AND namespace=",
               document_kind_name(name->kind));
    add_quoted(&sql, name->spec.namespace_name, "''");
    buf_add_str(&sql, " AND name=");
    add_quoted(&sql, name->spec.name, "''");
    buf_add_str(&sql, " AND item=");
    add_quoted(&sql, name->item ? name->item : "", "''");
    buf_add_str(&command, "psql ");
    add_quoted(&command, where, "'\\''");
    buf_add_str(&command, " -c ");
    add_quoted(&command, sql.data, "'\\''");
    return buf_take(&command);
}

static void store_free(struct store *base)
{
    struct postgres_store *store = (struct postgres_store *)base;

    postgres_pool_free(store->pool);
    postgres_place_done(&store->place);
    free(store);
}

static const struct store_ops ops = {
    .type = "postgres",
    .free = store_free,
    .open = store_open,
    .close = store_close,
    .read = store_read,
    .write = store_write,
    .append = store_append,
    .remove = store_remove,
    .list = store_list,
    .tidy = store_tidy,
    .describe = store_describe,
    .removal = store_removal,
};

int postgres_store_open(const char *address, struct store **ret, struct error *error)
{
    struct postgres_store *store;
    struct postgres_place place;
    int r = postgres_place_parse(address, &place, error);

    if (r < 0)
        return r;
    store = NEW(struct postgres_store);
    store->base.ops = &ops;
    store->place = place;
    store->pool = postgres_pool_new(&store->place);
    *ret = &store->base;
    return 0;
}
