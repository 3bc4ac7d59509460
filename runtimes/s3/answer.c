/* The XML of answers: private.h. */
#include <string.h>

#include "engine/base/str.h"
#include "engine/base/timestamp.h"
#include "runtimes/io/xml.h"
#include "runtimes/s3/private.h"

static int not_expected(struct error *error, const char *what)
{
    return err_set(error, ERR_INTERNAL, "UnexpectedAnswer", "the answer cannot be read: %s", what);
}

/* ---- Errors ---- */

static int on_error_end(void *arg, const char *name, const char *text, struct error *error)
{
    struct s3_error *said = arg;

    (void)error;
    if (str_equal(name, "Code") && !*said->code)
        str_copy(said->code, sizeof(said->code), text);
    if (str_equal(name, "Message") && !*said->message)
        str_copy(said->message, sizeof(said->message), text);
    return 0;
}

void s3_error_read(const struct buf *body, struct s3_error *ret)
{
    static const struct xml_handler handler = {.end = on_error_end};

    *ret = (struct s3_error){0};
    xml_read(body->data, body->length, &handler, ret, NULL);
}

/* What a server says, where its status does not say enough (AWS' list of error codes, and words of
 * others). Permissions are never ERR_NOT_FOUND: a bucket that is gone is no empty State. */
static const struct {
    const char *said;
    int code;
    const char *reason;
} codes[] = {
    {"NoSuchBucket", ERR_UNAVAILABLE, "StoreNotFound"},
    {"PermanentRedirect", ERR_FORBIDDEN, "StoreRefused"},
    {"AuthorizationHeaderMalformed", ERR_FORBIDDEN, "StoreRefused"},
    {"ExpiredToken", ERR_FORBIDDEN, "StoreRefused"},
    {"InvalidToken", ERR_FORBIDDEN, "StoreRefused"},
    {"InvalidAccessKeyId", ERR_FORBIDDEN, "StoreRefused"},
    {"XAdminUserNotFound", ERR_FORBIDDEN, "StoreRefused"}, /* versitygw's, with 404 */
    {"ExpiredTokenException", ERR_FORBIDDEN, "StoreRefused"},
    {"InvalidIdentityToken", ERR_FORBIDDEN, "StoreRefused"},
    {"IDPRejectedClaim", ERR_FORBIDDEN, "StoreRefused"},
    {"AccessDenied", ERR_FORBIDDEN, "StoreRefused"},
    {"EntityTooLarge", ERR_TOO_LARGE, "StoreFull"},
    {"QuotaExceeded", ERR_UNAVAILABLE, "StoreFull"},
    {"XMinioStorageFull", ERR_UNAVAILABLE, "StoreFull"},
    {"InsufficientStorage", ERR_UNAVAILABLE, "StoreFull"},
    {"ConditionalRequestConflict", ERR_UNAVAILABLE, "StoreBusy"},
    {"OperationAborted", ERR_UNAVAILABLE, "StoreBusy"},
    {"RequestTimeout", ERR_UNAVAILABLE, "StoreBusy"},
    {"RequestTimeTooSkewed", ERR_FORBIDDEN, "StoreRefused"},
};

int s3_refused(int status, const char *what, const struct s3_error *said, const char *region,
               struct error *error)
{
    _cleanup_free_ char *text = NULL;
    int code, r;

    text = str_printf("%s%s%s%s%s%s", said->code, *said->message ? ": " : "", said->message,
                      region ? " (the bucket is in region " : "", region ? region : "",
                      region ? ")" : "");
    r = remote_refused(status, what, *text ? text : NULL, error);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        if (!str_equal(said->code, codes[i].said))
            continue;
        code = codes[i].code;
        return err_set(error, code, codes[i].reason, "%s: %d: %s", what, status, text);
    }
    return r;
}

/* ---- Lists ---- */

struct listing {
    const char *prefix;
    size_t strip;
    objects_on_key *fn;
    void *arg;
    char *key, *next;
    int64_t modified;
    bool is_in_contents, is_truncated, is_list;
};

static int on_list_begin(void *arg, const char *name, struct error *error)
{
    struct listing *listing = arg;

    (void)error;
    if (str_equal(name, "ListBucketResult"))
        listing->is_list = true;
    if (str_equal(name, "Contents")) {
        listing->is_in_contents = true;
        free(TAKE(listing->key));
        listing->modified = 0;
    }
    return 0;
}

static int end_contents(struct listing *listing, struct error *error)
{
    listing->is_in_contents = false;
    if (!listing->key || !str_has_prefix(listing->key, listing->prefix))
        return not_expected(error, "a key in it was not asked for");
    return listing->fn(listing->arg, listing->key + listing->strip, listing->modified, error);
}

/* "2026-11-27T11:47:48.000Z", with or without milliseconds. */
static int64_t parse_time(const char *text)
{
    size_t seconds = strcspn(text, ".Z");
    _cleanup_free_ char *whole = str_printf("%.*sZ", (int)seconds, text);

    return timestamp_parse(whole);
}

static int on_list_end(void *arg, const char *name, const char *text, struct error *error)
{
    struct listing *listing = arg;

    if (str_equal(name, "Contents"))
        return end_contents(listing, error);
    if (listing->is_in_contents && str_equal(name, "Key") && !listing->key)
        listing->key = str_new(text);
    else if (listing->is_in_contents && str_equal(name, "LastModified"))
        listing->modified = parse_time(text);
    else if (!listing->is_in_contents && str_equal(name, "IsTruncated"))
        listing->is_truncated = str_equal(text, "true");
    else if (!listing->is_in_contents && str_equal(name, "NextContinuationToken") && !listing->next)
        listing->next = str_new(text);
    return 0;
}

/* The error of fn passes as it is; all others are of the answer. */
static int list_error(const struct listing *listing, int r, struct error *problem,
                      struct error *error)
{
    if (r < 0 && !str_equal(problem->reason, "InvalidXML"))
        return err_copy(error, problem);
    if (r < 0)
        return not_expected(error, problem->message);
    if (!listing->is_list)
        return not_expected(error, "it is no list");
    if (listing->is_truncated && (!listing->next || !*listing->next))
        return not_expected(error, "there is more, but it does not say how to ask for it");
    return 0;
}

int s3_list_read(const struct buf *body, const char *prefix, size_t strip, objects_on_key *fn,
                 void *arg, char **next, struct error *error)
{
    static const struct xml_handler handler = {on_list_begin, on_list_end};
    struct listing listing = {.prefix = prefix, .strip = strip, .fn = fn, .arg = arg};
    struct error problem = {0};
    int r = xml_read(body->data, body->length, &handler, &listing, &problem);

    r = list_error(&listing, r, &problem, error);
    if (r == 0 && listing.is_truncated && str_equal(listing.next, *next))
        r = not_expected(error, "the next page is this one");
    if (r == 0) {
        free(*next);
        *next = listing.is_truncated ? TAKE(listing.next) : NULL;
    }
    free(listing.next);
    free(listing.key);
    return r;
}

/* ---- Web identity ---- */

struct identity {
    struct s3_key key;
    int64_t expires;
};

static void take_text(char **to, const char *text)
{
    str_free_secret(*to);
    *to = str_new(text);
}

static int on_identity_end(void *arg, const char *name, const char *text, struct error *error)
{
    struct identity *identity = arg;

    (void)error;
    if (str_equal(name, "AccessKeyId"))
        take_text(&identity->key.access_key, text);
    else if (str_equal(name, "SecretAccessKey"))
        take_text(&identity->key.secret_key, text);
    else if (str_equal(name, "SessionToken"))
        take_text(&identity->key.session_token, text);
    else if (str_equal(name, "Expiration"))
        identity->expires = parse_time(text);
    return 0;
}

/* Whether it can be a part of a header. */
static bool is_header_text(const char *text)
{
    if (!text || !*text)
        return false;
    for (; *text; text++)
        if (*text <= ' ' || *text == 0x7f)
            return false;
    return true;
}

int s3_identity_read(const struct buf *body, struct s3_key *ret, int64_t *ret_expires,
                     struct error *error)
{
    static const struct xml_handler handler = {.end = on_identity_end};
    struct identity identity = {0};
    struct error problem = {0};

    if (xml_read(body->data, body->length, &handler, &identity, &problem) < 0 ||
        !is_header_text(identity.key.access_key) || !is_header_text(identity.key.secret_key) ||
        !is_header_text(identity.key.session_token) || !identity.expires) {
        s3_key_done(&identity.key);
        return not_expected(error, "it has no whole credentials");
    }
    *ret = identity.key;
    *ret_expires = identity.expires;
    return 0;
}
