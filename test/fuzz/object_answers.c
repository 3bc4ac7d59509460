/*
 * Answers of servers of objects. The first line says what the rest is the answer to: "xml", "list",
 * "identity" or "error" of S3, "propfind" of WebDAV. Whatever it is, it is read as a whole or
 * refused; a list that is not at its end says how to go on.
 */
#include "engine/base/str.h"
#include "runtimes/io/xml.h"
#include "runtimes/s3/private.h"
#include "runtimes/webdav/private.h"
#include "test/fuzz/fuzz.h"

static int on_key(void *arg, const char *key, int64_t modified, struct error *error)
{
    (void)error;
    must(key && modified >= 0);
    ++*(size_t *)arg;
    return 0;
}

static int on_end(void *arg, const char *name, const char *text, struct error *error)
{
    (void)error;
    must(*name && text);
    ++*(size_t *)arg;
    return 0;
}

static void read_xml(const struct buf *body)
{
    static const struct xml_handler handler = {.end = on_end};
    struct error error = {0};
    size_t count = 0;

    must_agree(xml_read(body->data, body->length, &handler, &count, &error), &error);
}

static void read_list(const struct buf *body)
{
    struct error error = {0};
    char *next = NULL;
    size_t count = 0;
    int r = s3_list_read(body, "a/", 2, on_key, &count, &next, &error);

    must_agree(r, &error);
    must(r == 0 || !next);
    must(!next || *next);
    free(next);
}

static void read_identity(const struct buf *body)
{
    struct s3_key key = {0};
    struct error error = {0};
    int64_t expires = 0;
    int r = s3_identity_read(body, &key, &expires, &error);

    must_agree(r, &error);
    must((r == 0) == (key.access_key && key.secret_key && key.session_token && expires != 0));
    s3_key_done(&key);
}

static void read_error(const struct buf *body)
{
    static const int statuses[] = {301, 400, 403, 404, 409, 412, 413, 500, 503, 507};
    struct s3_error said;

    s3_error_read(body, &said);
    for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
        struct error error = {0};
        int r = s3_refused(statuses[i], "PUT s3://a/b", &said, NULL, &error);

        must_agree(r, &error);
        must(r < 0 && r != ERR_NOT_FOUND && r != ERR_EXISTS);
    }
}

static void read_propfind(const struct buf *body)
{
    struct webdav_listing listing = {0};
    struct error error = {0};
    int r = webdav_listing_read(body, &listing, &error);

    must_agree(r, &error);
    must(r == 0 || !listing.count);
    for (size_t i = 0; i < listing.count; i++)
        must(listing.folders[i].name && listing.folders[i].modified >= 0);
    webdav_listing_done(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct {
        const char *word;
        void (*read)(const struct buf *body);
    } readers[] = {{"xml", read_xml},
                   {"list", read_list},
                   {"identity", read_identity},
                   {"error", read_error},
                   {"propfind", read_propfind}};
    _cleanup_free_ char *word = take_line(&data, &size);
    _cleanup_buf_ struct buf body = BUF_INIT;

    buf_add(&body, data, size);
    for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
        if (str_equal(word, readers[i].word))
            readers[i].read(&body);
    return 0;
}
