/* What signs requests: private.h. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/escape.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/s3/private.h"

#define SESSION      "kusion-operator"
#define STS_VERSION  "2011-06-15"
#define ANSWER_BYTES (1u << 20)
/* Of the time that credentials are good for, the part after which they are renewed. */
#define RENEW_PERCENT 80

void s3_key_done(struct s3_key *key)
{
    str_free_secret(key->access_key);
    str_free_secret(key->secret_key);
    str_free_secret(key->session_token);
    *key = (struct s3_key){0};
}

static void copy_key(const struct s3_key *from, struct s3_key *to)
{
    to->access_key = str_new(from->access_key);
    to->secret_key = str_new(from->secret_key);
    to->session_token = str_new(from->session_token);
}

int s3_credentials_init(struct s3_credentials *credentials, const char *folder, const char *sts,
                        const char *ca_file, struct error *error)
{
    pthread_mutex_init(&credentials->lock, NULL);
    credentials->folder = str_new(folder);
    if (folder)
        return 0;
    credentials->role = str_new(getenv("AWS_ROLE_ARN"));
    credentials->token_file = str_new(getenv("AWS_WEB_IDENTITY_TOKEN_FILE"));
    if (!credentials->role || !credentials->token_file)
        return err_set(
            error, ERR_INVALID, "InvalidFlag",
            "there are no credentials for S3: neither the option credentials=FOLDER, nor "
            "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE in the environment");
    return remote_init(&credentials->sts, sts, ca_file, error);
}

void s3_credentials_done(struct s3_credentials *credentials)
{
    free(credentials->folder);
    free(credentials->role);
    free(credentials->token_file);
    remote_done(&credentials->sts);
    s3_key_done(&credentials->key);
    pthread_mutex_destroy(&credentials->lock);
}

/* ---- Files ---- */

static int read_files(const char *folder, struct s3_key *ret, struct error *error)
{
    struct error problem = {0};
    int r = remote_read_secret(folder, "AWS_ACCESS_KEY_ID", &ret->access_key, error);

    if (r == 0)
        r = remote_read_secret(folder, "AWS_SECRET_ACCESS_KEY", &ret->secret_key, error);
    if (r < 0)
        return r;
    r = remote_read_secret(folder, "AWS_SESSION_TOKEN", &ret->session_token, &problem);
    return r < 0 && r != ERR_NOT_FOUND ? err_copy(error, &problem) : 0;
}

/* ---- Web identity ---- */

static char *exchange_body(const struct s3_credentials *credentials, const char *token)
{
    _cleanup_buf_ struct buf body = BUF_INIT;

    buf_add_str(&body, "Action=AssumeRoleWithWebIdentity&RoleArn=");
    escape_url(&body, credentials->role, false);
    buf_add_str(&body, "&RoleSessionName=" SESSION "&Version=" STS_VERSION "&WebIdentityToken=");
    escape_url(&body, token, false);
    return buf_take(&body);
}

/* Under the lock: one exchange at a time, and the others wait for it. */
static int exchange(struct s3_credentials *credentials, const struct store_call *call,
                    struct error *error)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded"};
    _cleanup_(str_free_secret_p) char *token = NULL, *body = NULL;
    _cleanup_free_ char *what = NULL;
    struct http_response response = HTTP_RESPONSE_INIT;
    struct http_request request = {.method = "POST",
                                   .path = "/",
                                   .headers = headers,
                                   .n_headers = 1,
                                   .max_response = ANSWER_BYTES};
    struct s3_key key = {0};
    int64_t now = system_clock.now(&system_clock), expires = 0;
    int r = remote_read_secret(NULL, credentials->token_file, &token, error);

    if (r < 0)
        return r;
    body = exchange_body(credentials, token);
    request.body = body;
    request.body_length = strlen(body);
    what = str_printf("AssumeRoleWithWebIdentity of %s at %s", credentials->role,
                      credentials->sts.address);
    r = remote_do(&credentials->sts, &request, call, false, &response, error);
    if (r == 0 && response.status == 200) {
        r = s3_identity_read(&response.body, &key, &expires, error);
    } else if (r == 0) {
        struct s3_error said;

        s3_error_read(&response.body, &said);
        r = s3_refused(response.status, what, &said, NULL, error);
    }
    if (response.body.length)
        explicit_bzero(response.body.data, response.body.length);
    http_response_done(&response);
    if (r < 0)
        return r;
    s3_key_done(&credentials->key);
    credentials->key = key;
    credentials->expires_at = expires;
    credentials->renew_at = now + (expires - now) / 100 * RENEW_PERCENT;
    return 0;
}

int s3_credentials_get(struct s3_credentials *credentials, const struct store_call *call,
                       struct s3_key *ret, struct error *error)
{
    struct error problem = {0};
    int64_t now = system_clock.now(&system_clock);
    int r = 0;

    if (credentials->folder) {
        r = read_files(credentials->folder, ret, error);
        if (r < 0)
            s3_key_done(ret);
        return r == ERR_NOT_FOUND ? ERR_FORBIDDEN : r;
    }
    pthread_mutex_lock(&credentials->lock);
    if (now >= credentials->renew_at)
        r = exchange(credentials, call, &problem);
    if (r < 0 && now < credentials->expires_at)
        r = 0; /* those of before are good for now */
    if (r == 0)
        copy_key(&credentials->key, ret);
    pthread_mutex_unlock(&credentials->lock);
    return r < 0 ? err_copy(error, &problem) : 0;
}
