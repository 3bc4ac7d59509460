#include <arpa/inet.h>
#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/postgres/private.h"

/* The first row is the document, the others are its entries. One statement sees one moment. */
#define READ                                                                                    \
    "WITH document AS MATERIALIZED (SELECT * FROM kusion.document"                              \
    " WHERE kind = $1 AND namespace = $2 AND name = $3 AND item = $4)"                          \
    " SELECT 0 AS number, version::text, base::text, entries, open AS bytes, open_sha256 AS "   \
    "sha256,"                                                                                   \
    " secret, secret_sha256 FROM document"                                                      \
    " UNION ALL SELECT entry.number, NULL, NULL, NULL, entry.bytes, entry.bytes_sha256, NULL, " \
    "NULL"                                                                                      \
    " FROM document, kusion.entry WHERE entry.base = document.base ORDER BY number"
enum column { NUMBER, VERSION, BASE, ENTRIES, BYTES, SHA256, SECRET, SECRET_SHA256, COLUMNS };

#define DOING "reading kusion.document"

void postgres_document_forget(struct postgres_document *file)
{
    file->exists = false;
    file->is_damaged = false;
    file->version[0] = '\0';
    file->base_version[0] = '\0';
    file->entry_bytes = 0;
}

void postgres_add_key(struct postgres_statement *statement, const struct document_name *name)
{
    postgres_add_text(statement, document_kind_name(name->kind));
    postgres_add_text(statement, name->spec.namespace_name);
    postgres_add_text(statement, name->spec.name);
    postgres_add_text(statement, name->item ? name->item : "");
}

char *postgres_document_describe(const struct postgres_place *place,
                                 const struct document_name *name)
{
    return str_printf("kusion.document (%s, %s, %s%s%s) in %s", document_kind_name(name->kind),
                      name->spec.namespace_name, name->spec.name, name->item ? ", " : "",
                      name->item ? name->item : "", place->shown);
}

/* ---- Rows ---- */

static int32_t number_in(const PGresult *result, int row, enum column column)
{
    uint32_t number = 0;

    if (PQgetlength(result, row, column) == sizeof(number))
        memcpy(&number, PQgetvalue(result, row, column), sizeof(number));
    return (int32_t)ntohl(number);
}

static int corrupt(const struct postgres_document *file, const char *part, struct error *error)
{
    const struct postgres_store *store = (const struct postgres_store *)file->base.store;
    _cleanup_free_ char *where = postgres_document_describe(&store->place, &file->name.name);

    return err_set(error, ERR_CORRUPT, STORE_CORRUPT, "%s is damaged: %s", where, part);
}

/* Adds a part, if it matches its checksum. */
static bool read_part(const PGresult *result, int row, enum column column, struct buf *to)
{
    unsigned char digest[HASH_SIZE];
    _cleanup_(hash_free_p) struct hash *hash = hash_new();
    size_t length = (size_t)PQgetlength(result, row, column);

    buf_reset(to);
    buf_add(to, PQgetvalue(result, row, column), length);
    hash_add(hash, to->data, to->length);
    hash_finish(hash, digest);
    return !buf_overflowed(to) && PQgetlength(result, row, column + 1) == HASH_SIZE &&
           memcmp(PQgetvalue(result, row, column + 1), digest, HASH_SIZE) == 0;
}

static int read_entries(struct postgres_document *file, const PGresult *result, struct document *to,
                        struct error *error)
{
    int count = PQntuples(result) - 1;

    if (count != number_in(result, 0, ENTRIES))
        return corrupt(file, "entries are missing, or there are too many", error);
    to->entries = NEW_ARRAY(struct buf, (size_t)count);
    for (int i = 0; i < count; i++) {
        struct buf *entry = &to->entries[to->n_entries++];

        buf_init(entry, 0);
        if (number_in(result, i + 1, NUMBER) != i + 1 || !read_part(result, i + 1, BYTES, entry))
            return corrupt(file, "an entry does not match its checksum", error);
        file->entry_bytes += entry->length;
    }
    return 0;
}

static int read_rows(struct postgres_document *file, const PGresult *result, struct document *to,
                     struct error *error)
{
    file->exists = true;
    str_copy(file->version, sizeof(file->version), PQgetvalue(result, 0, VERSION));
    str_copy(file->base_version, sizeof(file->base_version), PQgetvalue(result, 0, BASE));
    if (!read_part(result, 0, BYTES, &to->open))
        return corrupt(file, "its open part does not match its checksum", error);
    if (!read_part(result, 0, SECRET, &to->secret))
        return corrupt(file, "its secret part does not match its checksum", error);
    return read_entries(file, result, to, error);
}

int postgres_document_read(struct postgres_document *file, const struct store_call *call,
                           struct document *ret, struct error *error)
{
    struct postgres_store *store = (struct postgres_store *)file->base.store;
    struct postgres_statement statement = {.sql = READ, .columns = COLUMNS};
    struct document document = DOCUMENT_INIT;
    PGresult *result = NULL;
    int r;

    postgres_add_key(&statement, &file->name.name);
    r = postgres_select(store->pool, call, &statement, DOING, &result, error);
    if (r < 0)
        return r;
    postgres_document_forget(file);
    if (PQntuples(result) == 0)
        r = err_set(error, ERR_NOT_FOUND, NULL, "there is no such document");
    else
        r = read_rows(file, result, &document, error);
    PQclear(result);
    file->is_damaged = r == ERR_CORRUPT;
    if (r < 0) {
        document_done(&document);
        return r;
    }
    document_done(ret);
    *ret = document;
    return 0;
}
