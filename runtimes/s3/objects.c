/* Objects in a bucket: private.h. */
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/hash.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/chain/place.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/sigv4.h"
#include "runtimes/s3/private.h"

#define DEFAULT_REGION "us-east-1"
#define SERVICE        "s3"
#define PAGE_KEYS      "1000" /* of one page of a list; AWS gives no more */
#define LIST_BYTES     (8u << 20)

struct s3_objects {
    struct objects base;
    struct remote remote;
    struct s3_credentials credentials;
    char *bucket, *prefix; /* the prefix: "" or "/a/b" */
    char *root;            /* what an object's path begins with: "/bucket/a/b/", escaped */
    char *list_path;       /* of the bucket: "/bucket" or "/" */
    char *host;            /* as it is signed: without the port that is usual */
    char *region;
    const struct condition *condition;
    _Atomic int64_t clock_offset; /* ms that the server's clock is ahead */
};

static const struct condition {
    const char *option, *header, *value;
} conditions[] = {
    {"if-none-match", "if-none-match", "*"},
    {"x-oss-forbid-overwrite", "x-oss-forbid-overwrite", "true"},
    {"x-goog-if-generation-match", "x-goog-if-generation-match", "0"},
};

static struct s3_objects *s3_of(struct objects *objects)
{
    return (struct s3_objects *)objects;
}

/* ---- One request ---- */

struct signing {
    struct sigv4_header headers[6]; /* in the order of their names */
    size_t count;
    char date[SIGV4_DATE_SIZE];
    char body_hash[HASH_HEX_SIZE];
    char *lines[8]; /* "name: value" of each but host, and Authorization */
    size_t n_lines;
};

static void add_header(struct signing *signing, const char *name, const char *value)
{
    if (value)
        signing->headers[signing->count++] = (struct sigv4_header){name, value};
}

static void signing_done(struct signing *signing)
{
    for (size_t i = 0; i < signing->n_lines; i++)
        str_free_secret(signing->lines[i]);
    signing->n_lines = 0;
}

static void sign(struct s3_objects *s3, const char *method, const char *path, const char *query,
                 const struct buf *body, bool is_create, const struct s3_key *key,
                 struct signing *signing)
{
    struct sigv4_request request = {method, path, query, signing->headers, 0, signing->body_hash};
    const struct sigv4_key by = {key->access_key, key->secret_key, s3->region, SERVICE};
    const struct condition *condition = is_create ? s3->condition : NULL;
    bool is_first = condition && strcmp(condition->header, "x-amz-") < 0 &&
                    strcmp(condition->header, "host") > 0;
    _cleanup_free_ char *authorization = NULL;

    hash_hex(body ? body->data : "", body ? body->length : 0, signing->body_hash);
    sigv4_date(system_clock.now(&system_clock) + atomic_load(&s3->clock_offset), signing->date);
    add_header(signing, "host", s3->host);
    if (is_first)
        add_header(signing, condition->header, condition->value);
    add_header(signing, "x-amz-content-sha256", signing->body_hash);
    add_header(signing, "x-amz-date", signing->date);
    add_header(signing, "x-amz-security-token", key->session_token);
    if (condition && !is_first)
        add_header(signing, condition->header, condition->value);
    request.n_headers = signing->count;
    authorization = sigv4_authorization(&request, &by, signing->date);
    for (size_t i = 1; i < signing->count; i++)
        signing->lines[signing->n_lines++] =
            str_printf("%s: %s", signing->headers[i].name, signing->headers[i].value);
    signing->lines[signing->n_lines++] = str_printf("Authorization: %s", authorization);
    if (body)
        signing->lines[signing->n_lines++] = str_new("Content-Type: application/octet-stream");
}

struct exchange {
    const char *method, *path, *query; /* escaped; query: "" */
    const struct buf *body;            /* NULL: none */
    bool is_create, is_change;
    size_t max_response;
};

static int send_once(struct s3_objects *s3, const struct exchange *exchange,
                     const struct store_call *call, struct http_response *response,
                     struct error *error)
{
    static const char *const fields[] = {"Date", "x-amz-bucket-region"};
    _cleanup_free_ char *path =
        str_printf("%s%s%s", exchange->path, *exchange->query ? "?" : "", exchange->query);
    _cleanup_(signing_done) struct signing signing = {0};
    struct http_request request = {.method = exchange->method,
                                   .path = path,
                                   .body = exchange->body ? exchange->body->data : NULL,
                                   .body_length = exchange->body ? exchange->body->length : 0,
                                   .max_response = exchange->max_response,
                                   .fields = fields,
                                   .n_fields = ARRAY_SIZE(fields)};
    struct s3_key key = {0};
    int r = s3_credentials_get(&s3->credentials, call, &key, error);

    if (r < 0)
        return r;
    sign(s3, exchange->method, exchange->path, exchange->query, exchange->body, exchange->is_create,
         &key, &signing);
    s3_key_done(&key);
    request.headers = (const char *const *)signing.lines;
    request.n_headers = signing.n_lines;
    return remote_do(&s3->remote, &request, call, exchange->is_change, response, error);
}

/* Whether the answer says that our clock is wrong, and by how much. */
static bool correct_clock(struct s3_objects *s3, const struct http_response *response)
{
    struct s3_error said;
    int64_t now = system_clock.now(&system_clock), theirs;

    if (response->status != 403 || !response->fields[0])
        return false;
    s3_error_read(&response->body, &said);
    if (!str_equal(said.code, "RequestTimeTooSkewed"))
        return false;
    theirs = http_date(response->fields[0]);
    if (theirs <= 0)
        return false;
    atomic_store(&s3->clock_offset, theirs - now);
    return true;
}

/* A request that was refused because of the time did not happen, so it may be repeated. *ret_said:
 * of an answer that is not 200. */
static int exchange(struct s3_objects *s3, const struct exchange *exchange,
                    const struct store_call *call, struct http_response *response,
                    struct s3_error *ret_said, struct error *error)
{
    int r = send_once(s3, exchange, call, response, error);

    if (r == 0 && correct_clock(s3, response))
        r = send_once(s3, exchange, call, response, error);
    if (r == 0 && response->status != 200)
        s3_error_read(&response->body, ret_said);
    return r;
}

static char *object_path(const struct s3_objects *s3, const char *key)
{
    _cleanup_buf_ struct buf path = BUF_INIT;

    buf_add_str(&path, s3->root);
    escape_url(&path, key, true);
    return buf_take(&path);
}

static char *s3_describe(struct objects *objects, const char *key)
{
    const struct s3_objects *s3 = s3_of(objects);

    return str_printf("s3://%s%s/%s", s3->bucket, s3->prefix, key);
}

static int refused(struct s3_objects *s3, const char *method, const char *key,
                   const struct http_response *response, const struct s3_error *said,
                   struct error *error)
{
    _cleanup_free_ char *place = s3_describe(&s3->base, key);
    _cleanup_free_ char *what = str_printf("%s %s at %s", method, place, s3->remote.address);

    return s3_refused(response->status, what, said, response->fields[1], error);
}

/* ---- The table ---- */

static bool is_there(int status, const struct s3_error *said)
{
    return status == 412 || (status == 409 && (str_equal(said->code, "FileAlreadyExists") ||
                                               str_equal(said->code, "ObjectAlreadyExists")));
}

static int s3_create(struct objects *objects, const char *key, const struct buf *bytes,
                     const struct store_call *call, struct error *error)
{
    struct s3_objects *s3 = s3_of(objects);
    _cleanup_free_ char *path = object_path(s3, key);
    const struct exchange put = {"PUT", path, "", bytes, true, true, 0};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct s3_error said = {0};
    int r = exchange(s3, &put, call, &response, &said, error);

    if (r < 0 || response.status == 200)
        return r;
    if (is_there(response.status, &said))
        return err_set(error, ERR_EXISTS, NULL, "s3://%s%s/%s is there already", s3->bucket,
                       s3->prefix, key);
    return refused(s3, "PUT", key, &response, &said, error);
}

static int s3_get(struct objects *objects, const char *key, struct buf *ret,
                  const struct store_call *call, struct error *error)
{
    struct s3_objects *s3 = s3_of(objects);
    _cleanup_free_ char *path = object_path(s3, key);
    const struct exchange get = {"GET", path, "", NULL, false, false, OBJECT_BYTES};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct s3_error said = {0};
    int r = exchange(s3, &get, call, &response, &said, error);

    if (r < 0)
        return r;
    if (response.status == 404 && str_equal(said.code, "NoSuchKey"))
        return err_set(error, ERR_NOT_FOUND, NULL, "s3://%s%s/%s is not there", s3->bucket,
                       s3->prefix, key);
    if (response.status != 200)
        return refused(s3, "GET", key, &response, &said, error);
    buf_done(ret);
    *ret = response.body;
    response.body = (struct buf)BUF_INIT;
    return 0;
}

static int s3_delete(struct objects *objects, const char *key, const struct store_call *call,
                     struct error *error)
{
    struct s3_objects *s3 = s3_of(objects);
    _cleanup_free_ char *path = object_path(s3, key);
    const struct exchange delete = {"DELETE", path, "", NULL, false, true, 0};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct s3_error said = {0};
    int r = exchange(s3, &delete, call, &response, &said, error);

    if (r < 0 || response.status / 100 == 2 ||
        (response.status == 404 && str_equal(said.code, "NoSuchKey")))
        return r;
    return refused(s3, "DELETE", key, &response, &said, error);
}

static char *list_query(const char *whole_prefix, const char *next)
{
    _cleanup_buf_ struct buf query = BUF_INIT;

    if (next) {
        buf_add_str(&query, "continuation-token=");
        escape_url(&query, next, false);
        buf_add_char(&query, '&');
    }
    buf_add_str(&query, "list-type=2&max-keys=" PAGE_KEYS "&prefix=");
    escape_url(&query, whole_prefix, false);
    return buf_take(&query);
}

static int list_page(struct s3_objects *s3, const char *prefix, objects_on_key *fn, void *arg,
                     const struct store_call *call, char **next, struct error *error)
{
    _cleanup_free_ char *strip = *s3->prefix ? str_printf("%s/", s3->prefix + 1) : str_new("");
    _cleanup_free_ char *whole = str_printf("%s%s", strip, prefix);
    _cleanup_free_ char *query = list_query(whole, *next);
    const struct exchange get = {"GET", s3->list_path, query, NULL, false, false, LIST_BYTES};
    _cleanup_(http_response_done) struct http_response response = HTTP_RESPONSE_INIT;
    struct s3_error said = {0};
    int r = exchange(s3, &get, call, &response, &said, error);

    if (r < 0)
        return r;
    return response.status == 200
               ? s3_list_read(&response.body, whole, strlen(strip), fn, arg, next, error)
               : refused(s3, "LIST", prefix, &response, &said, error);
}

static int s3_list(struct objects *objects, const char *prefix, objects_on_key *fn, void *arg,
                   const struct store_call *call, struct error *error)
{
    _cleanup_free_ char *next = NULL;
    int r;

    do
        r = list_page(s3_of(objects), prefix, fn, arg, call, &next, error);
    while (r == 0 && next);
    return r;
}

static void s3_free(struct objects *objects)
{
    struct s3_objects *s3 = s3_of(objects);

    remote_done(&s3->remote);
    s3_credentials_done(&s3->credentials);
    free(s3->bucket);
    free(s3->prefix);
    free(s3->root);
    free(s3->list_path);
    free(s3->host);
    free(s3->region);
    free(s3);
}

static const struct object_ops ops = {
    .type = "s3",
    .free = s3_free,
    .create = s3_create,
    .get = s3_get,
    .delete = s3_delete,
    .list = s3_list,
    .describe = s3_describe,
};

/* ---- From a place ---- */

enum option { REGION, ENDPOINT, STYLE, CREDENTIALS, STS, CONDITION, CA, OPTIONS };
static const char *const options[OPTIONS] = {"region", "endpoint",  "style", "credentials",
                                             "sts",    "condition", "ca"};

static int invalid(const char *what, struct error *error)
{
    return err_set(error, ERR_INVALID, "InvalidFlag", "s3: %s", what);
}

static int choose_condition(struct s3_objects *s3, const char *wanted, struct error *error)
{
    for (size_t i = 0; i < ARRAY_SIZE(conditions); i++)
        if (!wanted || str_equal(wanted, conditions[i].option)) {
            s3->condition = &conditions[i];
            return 0;
        }
    return invalid("condition is none of if-none-match, x-oss-forbid-overwrite and "
                   "x-goog-if-generation-match",
                   error);
}

/* "https://host[:port]": its host, as curl puts it into the header. NULL: it is no such address. */
static char *host_of(const char *address, const char **ret_scheme)
{
    const char *host;

    *ret_scheme = str_has_prefix(address, "https://") ? "https" : "http";
    host = strstr(address, "://");
    if (!host || (!str_has_prefix(address, "https://") && !str_has_prefix(address, "http://")))
        return NULL;
    host += 3;
    if (!*host || host[strcspn(host, "/?#@ %")])
        return NULL;
    if (str_has_suffix(host, str_equal(*ret_scheme, "https") ? ":443" : ":80"))
        return str_new_n(host, (size_t)(strrchr(host, ':') - host));
    return str_new(host);
}

static int set_addresses(struct s3_objects *s3, const struct place *place, struct error *error)
{
    char *const *values = place->values;
    _cleanup_free_ char *endpoint = values[ENDPOINT]
                                        ? str_new(values[ENDPOINT])
                                        : str_printf("https://s3.%s.amazonaws.com", s3->region);
    _cleanup_free_ char *host = NULL, *address = NULL;
    const char *scheme, *style = values[STYLE];
    bool is_path = style ? str_equal(style, "path") : values[ENDPOINT] != NULL;

    if (style && !is_path && !str_equal(style, "virtual"))
        return invalid("style is neither virtual nor path", error);
    if (str_has_suffix(endpoint, "/"))
        endpoint[strlen(endpoint) - 1] = '\0';
    host = host_of(endpoint, &scheme);
    if (!host)
        return invalid("endpoint is not of the form https://host[:port]", error);
    s3->host = is_path ? str_new(host) : str_printf("%s.%s", s3->bucket, host);
    s3->root =
        is_path ? str_printf("/%s%s/", s3->bucket, s3->prefix) : str_printf("%s/", s3->prefix);
    s3->list_path = is_path ? str_printf("/%s", s3->bucket) : str_new("/");
    address = str_printf("%s://%s", scheme, s3->host);
    return remote_init(&s3->remote, address, values[CA], error);
}

static int set_credentials(struct s3_objects *s3, const struct place *place, struct error *error)
{
    _cleanup_free_ char *sts = place->values[STS]
                                   ? str_new(place->values[STS])
                                   : str_printf("https://sts.%s.amazonaws.com", s3->region);

    return s3_credentials_init(&s3->credentials, place->values[CREDENTIALS], sts, place->values[CA],
                               error);
}

static bool is_word(const char *text, const char *characters)
{
    return *text && !text[strspn(text, characters)];
}

static int fill(struct s3_objects *s3, const struct place *place, struct error *error)
{
    int r;

    s3->bucket = str_new(place->authority);
    s3->prefix = str_new(place->path);
    s3->region = str_new(place->values[REGION] ? place->values[REGION] : DEFAULT_REGION);
    if (!is_word(s3->bucket, "abcdefghijklmnopqrstuvwxyz0123456789.-"))
        return invalid("a bucket's name has a-z 0-9 . and - alone", error);
    if (!is_word(s3->region, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"))
        return invalid("region is no word", error);
    r = choose_condition(s3, place->values[CONDITION], error);
    if (r == 0)
        r = set_credentials(s3, place, error);
    if (r == 0)
        r = set_addresses(s3, place, error);
    return r;
}

int s3_objects_new(const char *text, struct objects **ret, struct error *error)
{
    struct s3_objects *s3;
    struct place place;
    int r = place_parse(text, options, OPTIONS, &place, error);

    if (r < 0)
        return r;
    s3 = NEW(struct s3_objects);
    s3->base.ops = &ops;
    pthread_mutex_init(&s3->credentials.lock, NULL);
    r = str_equal(place.scheme, "s3") ? fill(s3, &place, error)
                                      : invalid("the place does not begin with s3://", error);
    place_done(&place);
    if (r < 0) {
        s3_free(&s3->base);
        return r;
    }
    *ret = &s3->base;
    return 0;
}
