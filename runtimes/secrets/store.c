#include <string.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/utf8.h"
#include "engine/threads/locked.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "runtimes/io/clock.h"
#include "runtimes/secrets/cache.h"
#include "runtimes/secrets/private.h"

/* ms for which a refusal is the account's, and not that of a login that has ended: a new one did
 * not help. */
#define NO_HELP_TIME 30000
/* ms for which nobody tries to log in again after that failed. */
#define LOGIN_PAUSE 2000

static const struct secret_provider *const providers[] = {
    &secret_vault, &secret_aws, &secret_alicloud, &secret_azure,
#ifdef KUSION_TEST_RUNTIME
    &secret_fake,
#endif
};

/* ---- Settings ---- */

const char *secret_field(const struct secret_store *store, const char *name)
{
    return value_get_string(store->fields, name);
}

const char *secret_auth(const struct secret_store *store, const char *name)
{
    return value_get_string(store->auth, name);
}

bool secret_is_word(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789-")];
}

static int find_provider(struct secret_store *store, struct error *error)
{
    const struct value *provider = value_get(store->settings, "provider");
    size_t length = 0;
    const char *name = value_member_key(provider, 0, &length);

    for (size_t i = 0; name && i < ARRAY_SIZE(providers); i++)
        if (str_equal(providers[i]->name, name)) {
            store->provider = providers[i];
            store->fields = value_member(provider, 0);
            store->auth = value_get(store->settings, "auth");
            return 0;
        }
    return err_set(error, ERR_UNSUPPORTED, "Unsupported",
                   "secretStore: this operator has no provider \"%s\"", name ? name : "");
}

static char *digest_reader(const char *namespace_name, const char *reader,
                           const struct value *settings)
{
    _cleanup_buf_ struct buf text = BUF_INIT;
    char hex[HASH_HEX_SIZE];

    buf_printf(&text, "%s\n%s\n", namespace_name, reader);
    json_write(&text, settings, JSON_CANONICAL);
    hash_hex(text.data, text.length, hex);
    return str_new(hex);
}

int secret_store_open(const struct secret_stores *stores, const char *namespace_name,
                      const char *reader, const struct value *settings, secret_token *token,
                      void *arg, struct secret_store **ret, struct error *error)
{
    struct secret_store *store = NEW(struct secret_store);
    int r;

    store->stores = stores;
    store->namespace_name = str_new(namespace_name);
    store->settings = value_ref(settings);
    store->reader = digest_reader(namespace_name, reader, settings);
    store->token = token;
    store->arg = arg;
    pthread_mutex_init(&store->lock, NULL);
    r = find_provider(store, error);
    if (r >= 0)
        r = store->provider->open(store, error);
    if (r < 0)
        secret_store_free(store);
    else
        *ret = store;
    return r;
}

static void login_done(struct secret_login *login)
{
    str_free_secret(login->id);
    str_free_secret(login->key);
    str_free_secret(login->token);
    *login = (struct secret_login){0};
}

void secret_store_free(struct secret_store *store)
{
    if (!store)
        return;
    secret_server_done(&store->login_server);
    secret_server_done(&store->server);
    login_done(&store->login);
    pthread_mutex_destroy(&store->lock);
    value_unref(store->settings);
    free(store->namespace_name);
    free(store->reader);
    free(store);
}

/* ---- Logging in ---- */

/* Under the lock: one login at a time, and the others wait for it. */
static int log_in(struct secret_store *store, const struct secret_call *call, struct error *error)
{
    const struct secret_provider *provider = store->provider;
    const char *audience = secret_auth(store, "audience");
    _cleanup_(str_free_secret_p) char *token = NULL;
    struct secret_login login = {0};
    int r = store->token(store->arg, audience ? audience : provider->audience, call->deadline,
                         call->cancel, &token, error);

    if (r >= 0)
        r = provider->log_in(store, token, call, &login, error);
    if (r < 0) {
        login_done(&login);
        return r;
    }
    login_done(&store->login);
    store->login = login;
    store->login_number++;
    return 0;
}

/* A login as one request uses it. */
struct used_login {
    struct secret_login login;
    unsigned number;
    bool is_new; /* made for this request; or the provider has none */
};

/* refused: the number of the login that was refused; 0: none was. */
static int get_login(struct secret_store *store, const struct secret_call *call, unsigned refused,
                     struct used_login *ret, struct error *error)
{
    int64_t now = system_clock.monotonic(&system_clock);
    struct error problem = {0};
    int r = 0;

    ret->is_new = true;
    if (!store->provider->audience)
        return 0;
    LOCKED(&store->lock);
    if (store->failed.code && now - store->failed_at < LOGIN_PAUSE)
        return err_copy(error, &store->failed);
    ret->is_new = store->login_number == refused;
    if (ret->is_new)
        r = log_in(store, call, &problem);
    store->failed = (struct error){0};
    if (r < 0 && r != ERR_CANCELLED) {
        store->failed = problem;
        store->failed_at = now;
    }
    if (r < 0)
        return err_copy(error, &problem);
    ret->login.id = str_new(store->login.id);
    ret->login.key = str_new(store->login.key);
    ret->login.token = str_new(store->login.token);
    ret->number = store->login_number;
    return 0;
}

/* Whether another login may help where this one was refused: it may have ended. */
static bool may_help(struct secret_store *store, const struct used_login *used, bool is_second)
{
    int64_t now = system_clock.monotonic(&system_clock);
    LOCKED(&store->lock);

    if (is_second)
        store->was_no_help_at = now;
    return !used->is_new && !is_second &&
           (!store->was_no_help_at || now - store->was_no_help_at >= NO_HELP_TIME);
}

/* ---- For providers ---- */

const struct value *secret_decode(const char *base64)
{
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    const struct value *made = NULL;

    if (base64 && base64_decode(&bytes, base64, strlen(base64)) &&
        utf8_valid(bytes.data, bytes.length) == bytes.length) {
        made = value_pack("s", bytes.data);
        explicit_bzero(bytes.data, bytes.length);
    }
    return made;
}

bool secret_has_stage(const struct value *stages, const char *stage)
{
    for (size_t i = 0; i < value_count(stages); i++)
        if (str_equal(value_string(value_at(stages, i)), stage))
            return true;
    return false;
}

/* ---- Asking ---- */

typedef int asking(struct secret_store *store, const struct secret_login *login,
                   const struct secret_ref *ref, const struct secret_call *call, void *ret,
                   struct error *error);

/* Once more with a new login, if the one that was refused is not new. */
static int ask(struct secret_store *store, const struct secret_ref *ref,
               const struct secret_call *call, asking *fn, void *ret, struct error *error)
{
    unsigned refused = 0;

    for (;;) {
        struct used_login used = {0};
        struct error problem = {0};
        int r = get_login(store, call, refused, &used, error);

        if (r < 0)
            return r;
        r = fn(store, &used.login, ref, call, ret, &problem);
        login_done(&used.login);
        if (r != ERR_FORBIDDEN || !may_help(store, &used, refused > 0))
            return r < 0 ? err_copy(error, &problem) : r;
        refused = used.number;
    }
}

static int ask_answer(struct secret_store *store, const struct secret_login *login,
                      const struct secret_ref *ref, const struct secret_call *call, void *ret,
                      struct error *error)
{
    return store->provider->read(store, login, ref, call, ret, error);
}

static int ask_version(struct secret_store *store, const struct secret_login *login,
                       const struct secret_ref *ref, const struct secret_call *call, void *ret,
                       struct error *error)
{
    return store->provider->look(store, login, ref, call, ret, error);
}

/* ---- What was asked for ---- */

int secret_not_found(const struct secret_ref *ref, const char *what, struct error *error)
{
    return err_set(error, ERR_INVALID, SECRET_NOT_FOUND, "the secret \"%s\" %s", ref->name, what);
}

/* A text as it is; what is no text, as JSON. A reference. */
static const struct value *as_text(const struct value *value)
{
    _cleanup_(str_free_secret_p) char *text = NULL;

    if (value_is(value, VALUE_STRING))
        return value_ref(value);
    text = json_to_str(value);
    return value_pack("s", text);
}

/* The property of an object: its key as it is written; else the path that it is. Borrowed. */
static const struct value *find_property(const struct value *object, const char *property)
{
    const struct value *found = value_get(object, property);

    return found || !path_check(property, NULL) ? found : path_find(object, property, NULL);
}

/* A reference; NULL: it does not have it. */
static const struct value *pick(const struct secret_answer *answer, const struct secret_ref *ref)
{
    _cleanup_value_ const struct value *parsed = NULL;
    const struct value *object = answer->data, *found;
    size_t length = 0;
    const char *text = value_string_n(answer->data, &length);

    if (!ref->property)
        return as_text(answer->data);
    if (text && json_read(text, length, &parsed, NULL) >= 0)
        object = parsed;
    found = find_property(object, ref->property);
    return found && !value_is(found, VALUE_NULL) ? as_text(found) : NULL;
}

/* A version of the store's, as State has it. */
static char *clean_version(const char *version)
{
    char *clean = str_new(version && *version ? version : "-");

    for (char *c = clean; *c; c++)
        if (*c <= ' ' || *c > '~')
            *c = '_';
    if (strlen(clean) > 128)
        clean[128] = '\0';
    return clean;
}

static int take_answer(const struct secret_answer *answer, const struct secret_ref *ref,
                       struct secret *ret, struct error *error)
{
    _cleanup_value_ const struct value *found = answer->data ? pick(answer, ref) : NULL;
    size_t length = 0;
    const char *text = value_string_n(found, &length);

    if (!text)
        return err_set(error, ERR_INVALID, SECRET_NOT_FOUND,
                       "the secret \"%s\" has no property \"%s\"", ref->name,
                       ref->property ? ref->property : "");
    if (!length)
        return err_set(error, ERR_INVALID, SECRET_NOT_FOUND, "the secret \"%s\": %s%sis empty",
                       ref->name, ref->property ? ref->property : "", ref->property ? " " : "");
    if (length > SECRET_BYTES)
        return err_set(error, ERR_INVALID, "TooLarge", "the secret \"%s\" has more than %u KiB",
                       ref->name, SECRET_BYTES >> 10);
    ret->value = value_sensitive(found);
    ret->version = clean_version(answer->version);
    return 0;
}

/* What a provider says to be absent does not come by waiting. */
static int explain(const struct secret_ref *ref, int r, const struct error *problem,
                   struct error *error)
{
    if (r == ERR_NOT_FOUND)
        return secret_not_found(
            ref, ref->version ? "is not there, or not in this version" : "is not there", error);
    if (r == ERR_TIMEOUT)
        return err_set(error, ERR_UNAVAILABLE, SECRET_UNAVAILABLE, "%s", problem->message);
    return err_copy(error, problem);
}

static int read_now(struct secret_store *store, const struct secret_ref *ref,
                    const struct secret_call *call, struct secret *ret, struct error *error)
{
    struct secret_answer answer = {0};
    struct error problem = {0};
    int r = ask(store, ref, call, ask_answer, &answer, &problem);

    if (r >= 0)
        r = take_answer(&answer, ref, ret, &problem);
    value_unref(answer.data);
    free(answer.version);
    return r < 0 ? explain(ref, r, &problem, error) : 0;
}

/* ---- By the version alone ---- */

static char *key_of(const struct secret_store *store, const struct secret_ref *ref)
{
    return str_printf("%s %s\n%s\n%s", store->reader, ref->name, ref->property ? ref->property : "",
                      ref->version ? ref->version : "");
}

/* 1: the store cannot tell, or not to this account: the right to read need not be that to look. */
static int look(struct secret_store *store, const struct secret_ref *ref,
                const struct secret_call *call, const char *known, bool *ret_is_same,
                struct error *error)
{
    _cleanup_free_ char *version = NULL, *clean = NULL;
    struct error problem = {0};
    int r;

    if (!store->provider->look)
        return 1;
    r = ask(store, ref, call, ask_version, &version, &problem);
    if (r == ERR_FORBIDDEN || r > 0)
        return 1;
    if (r < 0)
        return explain(ref, r, &problem, error);
    clean = clean_version(version);
    *ret_is_same = str_equal(clean, known);
    return 0;
}

int secret_store_get(struct secret_store *store, const struct secret_ref *ref, int64_t deadline,
                     struct cancel *cancel, struct secret *ret, struct error *error)
{
    const struct secret_call call = {deadline, cancel};
    struct secret_cache *cache = store->stores->cache;
    _cleanup_free_ char *key = key_of(store, ref);
    int64_t now = system_clock.monotonic(&system_clock);
    struct secret known = {0};
    bool is_same = false;
    int r = 0;

    if (secret_cache_find(cache, key, now, &known))
        r = look(store, ref, &call, known.version, &is_same, error);
    if (is_same) {
        *ret = known;
        return 0;
    }
    value_unref(known.value);
    free(known.version);
    if (r >= 0)
        r = read_now(store, ref, &call, ret, error);
    if (r < 0 && r != ERR_UNAVAILABLE && r != ERR_CANCELLED)
        secret_cache_drop(cache, key);
    if (r >= 0)
        secret_cache_put(cache, key, now, ret);
    return r;
}
