/*
 * The documents of the Kubernetes store, over an API server in memory (kube_do and its kin are
 * replaced here), as two processes use them, while requests fail, answers are lost or come late,
 * processes are killed, and what is stored is changed by others. Whatever happens, a read gives
 * the last change that succeeded, or one after it whose outcome was not known; where something
 * was changed by others, it may be ERR_CORRUPT.
 *
 * Each line is a step, of the process 0 or 1:
 *   0w OPEN SECRET   writes parts of so many bytes      0a LENGTH   appends an entry
 *   0r               reads                              0x          removes
 *   0n               ends, and begins anew
 *   f N HOW          of the changing requests from now on, the Nth (from 0) fails: b before it
 *                    happened, a after, l before, but it happens at the next request; k and K as
 *                    b and a, and the process is killed
 *   d N POINTER JSON in the Nth object: puts that there, or, without JSON, removes it; the
 *                    pointer "/" is all of it
 */
#include "runtimes/kubernetes/store/documents.h"

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "engine/value/path.h"
#include "runtimes/kubernetes/client/list.h"
#include "runtimes/kubernetes/client/path.h"
#include "runtimes/kubernetes/client/pause.h"
#include "test/fuzz/fuzz.h"

#define MOST_OBJECTS 200
#define MOST_STEPS   60
#define MOST_BYTES   2200000 /* of a part: four chunks */

/* ---- The API server ---- */

struct object {
    char *path;
    const struct value *value; /* NULL: removed */
};

/* A request that happens later. */
struct late {
    char *method, *path;
    const struct value *body;
};

static struct {
    struct object objects[MOST_OBJECTS];
    size_t n_objects;
    unsigned last_version;
    long fail_in; /* -1: none */
    char how;
    struct late late;
    bool is_killed; /* the process that runs */
} server;

static struct object *find(const char *path)
{
    for (size_t i = 0; i < server.n_objects; i++)
        if (server.objects[i].value && strcmp(server.objects[i].path, path) == 0)
            return &server.objects[i];
    return NULL;
}

static const char *version_in(const struct value *object)
{
    return value_string(value_path(object, "metadata", "resourceVersion", NULL));
}

static const struct value *with_version(const struct value *object)
{
    static const char *const at[] = {"metadata", "resourceVersion"};
    char text[24];
    const struct value *version, *result;

    snprintf(text, sizeof(text), "%u", ++server.last_version);
    version = value_pack("s", text);
    result = value_with_path(object, at, 2, version);
    value_unref(version);
    return result;
}

static int create(const char *collection, const struct value *body, const struct value **ret)
{
    const char *name = value_string(value_path(body, "metadata", "name", NULL));
    _cleanup_free_ char *path = str_printf("%s/%s", collection, name);

    must(name && !version_in(body));
    if (find(path))
        return ERR_EXISTS;
    must(server.n_objects < MOST_OBJECTS);
    server.objects[server.n_objects] = (struct object){TAKE(path), with_version(body)};
    *ret = value_ref(server.objects[server.n_objects++].value);
    return 0;
}

/* A merge patch, of as much as is used: members of metadata and data. */
static const struct value *merge(const struct value *object, const struct value *patch)
{
    const struct value *merged = value_ref(object);

    for (size_t i = 0; i < value_count(patch); i++) {
        const char *key = value_member_key(patch, i, NULL);
        const struct value *member = value_member(patch, i), *old = value_get(merged, key), *next;
        const struct value *deeper = value_is(member, VALUE_OBJECT) && value_is(old, VALUE_OBJECT)
                                         ? merge(old, member)
                                         : value_ref(member);

        next = value_with(merged, key, deeper);
        value_unref(deeper);
        value_unref(merged);
        merged = next;
    }
    return merged;
}

static int change(const char *method, const char *path, const struct value *body,
                  const struct value **ret)
{
    struct object *object = find(path);
    bool is_delete = strcmp(method, "DELETE") == 0;
    const char *expected =
        is_delete ? value_string(value_path(body, "preconditions", "resourceVersion", NULL))
                  : version_in(body);
    const struct value *next = NULL, *merged;

    if (!object)
        return ERR_NOT_FOUND;
    must(is_delete || expected);
    if (expected && !str_equal(expected, version_in(object->value)))
        return ERR_CONFLICT;
    if (!is_delete) {
        must(!value_bool(value_get(object->value, "immutable"), false));
        merged = strcmp(method, "PATCH") == 0 ? merge(object->value, body) : value_ref(body);
        next = with_version(merged);
        value_unref(merged);
        *ret = value_ref(next);
    }
    value_unref(object->value);
    object->value = next;
    return 0;
}

static int run(const char *method, const char *path, const struct value *body,
               const struct value **ret)
{
    return strcmp(method, "POST") == 0 ? create(path, body, ret) : change(method, path, body, ret);
}

static void forget_late(void)
{
    free(server.late.method);
    free(server.late.path);
    value_unref(server.late.body);
    server.late = (struct late){0};
}

static void run_late(void)
{
    const struct value *answer = NULL;

    if (!server.late.method)
        return;
    run(server.late.method, server.late.path, server.late.body, &answer);
    value_unref(answer);
    forget_late();
}

static int unavailable(struct error *error)
{
    return err_set(error, ERR_UNAVAILABLE, NULL, "no answer");
}

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error);
int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error);
bool __wrap_pause_for(int64_t delay, struct cancel *cancel);

/* 1: the request goes on to happen; *ret_lost: its answer is lost. */
static int fault(const struct kube_request *request, bool *ret_lost)
{
    char how = server.how;

    if (server.fail_in < 0 || server.fail_in-- > 0)
        return 1;
    if (how == 'k' || how == 'K')
        server.is_killed = true;
    *ret_lost = how == 'a' || how == 'K';
    if (how == 'l')
        server.late =
            (struct late){str_new(request->method), kube_path(request), value_ref(request->body)};
    return *ret_lost;
}

int __wrap_kube_do(struct kube_client *client, const struct kube_request *request,
                   const struct value **ret, struct error *error)
{
    _cleanup_free_ char *path = kube_path(request);
    const struct value *answer = NULL;
    struct object *object;
    bool is_lost = false;
    int r;

    (void)client;
    if (server.is_killed)
        return unavailable(error);
    run_late();
    if (strcmp(request->method, "GET") == 0) {
        object = find(path);
        if (!object)
            return err_set(error, ERR_NOT_FOUND, NULL, "not there");
        if (ret)
            *ret = value_ref(object->value);
        return 0;
    }
    if (!fault(request, &is_lost))
        return unavailable(error);
    r = run(request->method, path, request->body, &answer);
    if (r == 0 && ret && !is_lost)
        *ret = value_ref(answer);
    value_unref(answer);
    if (is_lost)
        return unavailable(error);
    return r < 0 ? err_set(error, r, NULL, "as it is") : 0;
}

int __wrap_kube_list(struct kube_client *client, const struct kube_list *list,
                     char **ret_resource_version, struct error *error)
{
    _cleanup_free_ char *path = kube_path(&(struct kube_request){.ref = list->ref});
    const char *head = strchr(list->selector.labels, '=');

    (void)client;
    (void)ret_resource_version;
    must(head);
    if (server.is_killed)
        return unavailable(error);
    run_late();
    for (size_t i = 0; i < server.n_objects; i++)
        if (server.objects[i].value && str_has_prefix(server.objects[i].path, path) &&
            str_equal(value_string(value_path(server.objects[i].value, "metadata", "labels",
                                              KUBE_DOCUMENT_LABEL, NULL)),
                      head + 1))
            must(list->on_item(list->arg, server.objects[i].value, error) == 0);
    return 0;
}

bool __wrap_pause_for(int64_t delay, struct cancel *cancel)
{
    (void)delay;
    (void)cancel;
    return !server.is_killed;
}

/* ---- What is expected ---- */

/* All that the document ever was, or may be; the first: there is none. */
static struct {
    struct document documents[MOST_STEPS + 1];
    size_t count;
    size_t now; /* the last that is known to have been */
    struct {
        size_t from, to;
    } doubts[MOST_STEPS]; /* changes that may have happened, or may happen still */
    size_t n_doubts;
    bool is_disturbed; /* requests failed, or objects were changed */
    bool is_damaged;   /* objects were changed */
} model;

static bool may_be(size_t version)
{
    bool reached[MOST_STEPS + 1] = {false};
    bool is_more = true;

    reached[model.now] = true;
    while (is_more) {
        is_more = false;
        for (size_t i = 0; i < model.n_doubts; i++)
            if (reached[model.doubts[i].from] && !reached[model.doubts[i].to])
                is_more = reached[model.doubts[i].to] = true;
    }
    return reached[version];
}

static bool is_same_buf(const struct buf *a, const struct buf *b)
{
    return a->length == b->length && memcmp(a->data, b->data, a->length) == 0;
}

static bool is_same(const struct document *a, const struct document *b)
{
    if (!is_same_buf(&a->open, &b->open) || !is_same_buf(&a->secret, &b->secret) ||
        a->n_entries != b->n_entries)
        return false;
    for (size_t i = 0; i < a->n_entries; i++)
        if (!is_same_buf(&a->entries[i], &b->entries[i]))
            return false;
    return true;
}

static void add_entry(struct document *to, const struct buf *bytes)
{
    to->entries = mem_resize(to->entries, to->n_entries + 1, sizeof(struct buf));
    buf_init(&to->entries[to->n_entries], 0);
    buf_add(&to->entries[to->n_entries++], bytes->data, bytes->length);
}

static void copy(struct document *to, const struct document *from)
{
    buf_add(&to->open, from->open.data, from->open.length);
    buf_add(&to->secret, from->secret.data, from->secret.length);
    for (size_t i = 0; i < from->n_entries; i++)
        add_entry(to, &from->entries[i]);
}

static void fill(struct buf *to, size_t length, size_t seed)
{
    uint32_t state = (uint32_t)seed * 77 + 1;

    buf_printf(to, "%zu ", seed); /* no two are the same */
    while (length--) {
        state = state * 1664525 + 1013904223;
        buf_add_char(to, (char)(state >> 24));
    }
}

/* ---- The processes ---- */

static const struct document_name name = {DOCUMENT_STATE, {"team", "web"}, NULL};
static const struct store_call plain;

struct process {
    struct store *store;
    struct store_file *file;
    size_t seen; /* of the model's documents */
    bool is_killed;
    bool is_confused;    /* by damage */
    bool is_perhaps_rid; /* of the document: a removal failed, perhaps after the head was gone */
};

static void start(struct process *process)
{
    process->store =
        kube_documents_new(&(struct kube_documents_config){.namespace_name = "kusion-system"});
    must(process->store->ops->open(process->store, &name, STORE_WRITE, &plain, &process->file,
                                   NULL) == 0);
    process->seen = 0;
    process->is_killed = process->is_confused = process->is_perhaps_rid = false;
}

static void stop(struct process *process)
{
    process->store->ops->close(process->file);
    process->store->ops->free(process->store);
}

static bool head_is_gone(void)
{
    char head[KUBE_DOCUMENT_NAME_SIZE];
    _cleanup_free_ char *path = NULL;

    kube_document_name(&name, head);
    path = str_printf("/api/v1/namespaces/kusion-system/configmaps/%s", head);
    return !find(path);
}

static void read_one(struct process *process)
{
    struct document document = DOCUMENT_INIT;
    struct error error = {0};
    size_t i = model.count;
    int r = process->store->ops->read(process->file, &plain, &document, &error);

    must_agree(r, &error);
    process->is_confused = r != 0 && r != ERR_NOT_FOUND;
    process->is_perhaps_rid = false;
    if (r == 0)
        while (--i > 0 && !(may_be(i) && is_same(&model.documents[i], &document)))
            ;
    else if (r == ERR_NOT_FOUND)
        i = 0;
    document_done(&document);
    if (r == 0 || r == ERR_NOT_FOUND) {
        must((r == 0) == (i > 0));
        must(i > 0 || may_be(0) || (model.is_damaged && head_is_gone()));
        model.now = process->seen = i;
    } else {
        must(r == ERR_UNAVAILABLE ? process->is_killed || server.is_killed
                                  : r == ERR_CORRUPT && model.is_damaged);
    }
}

/* What a change came to, which would make the document `next` of what the process saw. */
static void judge(struct process *process, int r, const struct error *error, size_t next)
{
    must_agree(r, error);
    if (r == 0) {
        must(process->is_confused || may_be(process->seen) ||
             (process->is_perhaps_rid && may_be(0)) || (next == 0 && may_be(0)));
        model.now = process->seen = next;
        process->is_confused = process->is_perhaps_rid = false;
    } else if (r == ERR_UNAVAILABLE || r == ERR_TIMEOUT) {
        must(model.is_disturbed);
        model.doubts[model.n_doubts].from = process->seen;
        model.doubts[model.n_doubts++].to = next;
    } else if (r == ERR_CONFLICT) {
        must(model.is_disturbed || process->seen != model.now);
    } else if (r == ERR_NOT_FOUND) {
        must(process->seen == 0 || process->is_perhaps_rid);
    } else {
        must(r == ERR_TOO_LARGE || (r == ERR_CORRUPT && model.is_damaged));
    }
}

static void write_one(struct process *process, size_t open, size_t secret)
{
    struct document *next = &model.documents[model.count++];
    struct error error = {0};
    int r;

    *next = (struct document)DOCUMENT_INIT;
    fill(&next->open, open % MOST_BYTES, model.count);
    if (secret)
        fill(&next->secret, secret % MOST_BYTES, secret); /* the same again, at times */
    r = process->store->ops->write(process->file, &plain, next, &error);
    judge(process, r, &error, model.count - 1);
}

static void append_one(struct process *process, size_t length)
{
    struct document *next = &model.documents[model.count++];
    _cleanup_buf_ struct buf bytes = BUF_INIT;
    struct error error = {0};
    int r;

    *next = (struct document)DOCUMENT_INIT;
    copy(next, &model.documents[process->seen]);
    fill(&bytes, length % MOST_BYTES, model.count);
    add_entry(next, &bytes);
    r = process->store->ops->append(process->file, &plain, bytes.data, bytes.length, &error);
    must(r != 0 || !process->is_confused);
    judge(process, r, &error, model.count - 1);
}

static void remove_one(struct process *process)
{
    struct error error = {0};
    int r = process->store->ops->remove(process->file, &plain, &error);

    judge(process, r, &error, 0);
    process->is_perhaps_rid |= r != 0;
    must(r != 0 || head_is_gone());
}

/* ---- The input ---- */

static void damage(const char *line)
{
    unsigned number = 0;
    int end = 0;
    _cleanup_free_ char *pointer = NULL;
    _cleanup_value_ const struct value *with = NULL;
    const struct value *changed, **object;

    if (sscanf(line, "d %3u %ms%n", &number, &pointer, &end) < 2 || server.n_objects == 0)
        return;
    object = &server.objects[number % server.n_objects].value;
    json_read_str(line + end, &with, NULL);
    /* What else is in an object is the API server's. */
    if (strcmp(pointer, "/") == 0) {
        value_unref(*object);
        *object = NULL;
    } else if ((str_has_prefix(pointer, "/data/") || str_has_prefix(pointer, "/binaryData/")) &&
               pointer_find(*object, pointer)) {
        changed = pointer_replace(*object, pointer, with);
        value_unref(*object);
        *object = with_version(changed);
        value_unref(changed);
    }
    model.is_disturbed = model.is_damaged = true;
}

static void step_of(struct process *process, const char *line)
{
    unsigned long first = 0, second = 0;
    int n = sscanf(line + 1, "%9lu %9lu", &first, &second);

    (void)n;
    if (line[0] == 'n') {
        stop(process);
        start(process);
        return;
    }
    server.is_killed = process->is_killed;
    if (line[0] == 'w')
        write_one(process, first, second);
    else if (line[0] == 'a')
        append_one(process, first);
    else if (line[0] == 'r')
        read_one(process);
    else if (line[0] == 'x')
        remove_one(process);
    process->is_killed = server.is_killed;
    server.is_killed = false;
}

static void step(struct process *processes, const char *line)
{
    if (line[0] == 'd') {
        damage(line);
    } else if (line[0] == 'f') {
        model.is_disturbed = true;
        if (sscanf(line, "f %3ld %c", &server.fail_in, &server.how) < 2 || server.fail_in < 0)
            server.fail_in = -1;
    } else if (line[0] == '0' || line[0] == '1') {
        step_of(&processes[line[0] - '0'], line + 1);
    }
}

/* In the end all is well again: the document can be read, or replaced; then nothing is left. */
static void finish(struct process *process)
{
    server.fail_in = -1;
    run_late();
    stop(process);
    start(process);
    read_one(process);
    write_one(process, 1, 1);
    read_one(process);
    must(process->seen == model.count - 1 || model.is_damaged);
    remove_one(process);
    for (size_t i = 0; i < server.n_objects; i++)
        must(!server.objects[i].value || model.is_damaged);
}

static void reset(void)
{
    for (size_t i = 0; i < model.count; i++)
        document_done(&model.documents[i]);
    memset(&model, 0, sizeof(model));
    for (size_t i = 0; i < server.n_objects; i++) {
        free(server.objects[i].path);
        value_unref(server.objects[i].value);
    }
    forget_late();
    memset(&server, 0, sizeof(server));
    server.fail_in = -1;
    model.documents[model.count++] = (struct document)DOCUMENT_INIT;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct process processes[2];

    reset();
    start(&processes[0]);
    start(&processes[1]);
    for (size_t i = 0; i + 2 < MOST_STEPS && size; i++) {
        _cleanup_free_ char *line = take_line(&data, &size);

        step(processes, line);
    }
    finish(&processes[0]);
    stop(&processes[0]);
    stop(&processes[1]);
    reset();
    return 0;
}
