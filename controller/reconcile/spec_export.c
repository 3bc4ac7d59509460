#include "controller/reconcile/spec_export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "controller/desk/desk.h"
#include "controller/reconcile/run/spec_secret.h"
#include "engine/base/base64.h"
#include "engine/base/str.h"
#include "engine/log/log.h"
#include "engine/state/gzip.h"
#include "engine/value/json.h"

#define TIMEOUT     10000       /* ms, of each request */
#define SLOT_TIME   1000        /* ms; then it is tried again later */
#define MOST_BYTES  (1u << 20)  /* of a Secret's data: the API server's bound */
#define MOST_TEXT   (16u << 20) /* of the file, as text: no more is taken over, either */
#define LABEL_BYTES 63          /* of a label's value */
#define UUID_BYTES  36

#define FIELD    "terraformState.to: "
#define KEY      "tfstate"
#define WRITTEN  "api.kusion.io/terraform-state" /* annotation */
#define PREFIX   "tfstate-"
#define NOTHING  1 /* there is nothing to write yet */
#define OF_OTHER "TerraformStateNotOurs"
#define CHANGED  "TerraformStateChanged"
#define LOCKED   "TerraformStateLocked"

/* The Secret as it is, and what our annotation says of it. */
struct written {
    const char *name;
    const struct value *object; /* a reference; NULL: there is no Secret */
    const struct value *note;   /* the annotation; a reference, or NULL */
    struct buf data;            /* the gzipped file */
    const struct value *now;    /* the Secret after a write; a reference, or NULL */
    bool is_put_off;            /* the file is large, and others are being made */
};

static void written_done(struct written *written)
{
    value_unref(written->object);
    value_unref(written->note);
    value_unref(written->now);
    buf_done(&written->data);
}

/* ---- Reading ---- */

static const struct value *read_note(const struct value *object)
{
    const char *text = value_string(value_path(object, "metadata", "annotations", WRITTEN, NULL));
    const struct value *note = NULL;

    if (text)
        json_read_str(text, &note, NULL);
    return note;
}

/* The Secret, or the Lease by which Terraform locks it. accept: KUBE_METADATA: its metadata alone.
 */
static int get(const struct run *run, const struct kube_kind *kind, const char *name,
               const char *accept, const struct value **ret, struct error *error)
{
    return run_read(run,
                    (struct kube_request){
                        .ref = {.kind = kind, .name = name}, .accept = accept, .timeout = TIMEOUT},
                    ret, error);
}

static int load(const struct run *run, struct written *ret, struct error *error)
{
    struct error problem = {0};
    size_t length;
    const char *data;
    int r = get(run, &kube_secrets, ret->name, NULL, &ret->object, &problem);

    if (r == ERR_NOT_FOUND)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    ret->note = read_note(ret->object);
    data = value_string_n(value_path(ret->object, "data", KEY, NULL), &length);
    if (data)
        base64_decode(&ret->data, data, length);
    return 0;
}

/* An earlier Spec of this name may have left its objects to Terraform (deletionPolicy Orphan). */
static bool is_ours(const struct run *run, const struct written *written)
{
    return str_equal(value_get_string(written->note, "spec"), run->subject.key.name) &&
           (str_equal(value_get_string(written->note, "uid"), run->uid) ||
            value_int(value_get(written->note, "resources"), -1) == 0);
}

static struct runtime_mark mark_of(const struct written *written)
{
    const char *lineage = value_get_string(written->note, "lineage");

    return (struct runtime_mark){lineage ? lineage : "",
                                 (uint64_t)value_int(value_get(written->note, "serial"), 0)};
}

/* Of what was written, and under which mark: metadata alone must not tell what a file has. */
static void digest_of(const struct run *run, const struct buf *data,
                      const struct runtime_mark *mark, char ret[HASH_HEX_SIZE])
{
    const struct reconcile_context *context = run->context;
    _cleanup_(hash_free_p) struct hash *hash =
        hash_new_keyed(context->plan_key, sizeof(context->plan_key));
    char serial[24];

    snprintf(serial, sizeof(serial), "%" PRIu64, mark->serial);
    hash_add_str(hash, mark->lineage);
    hash_add_str(hash, serial);
    hash_add(hash, data->data, data->length);
    hash_finish_hex(hash, ret);
}

static bool is_as_we_left_it(const struct run *run, const struct written *written)
{
    const struct runtime_mark mark = mark_of(written);
    char digest[HASH_HEX_SIZE];

    digest_of(run, &written->data, &mark, digest);
    return str_equal(value_get_string(written->note, "digest"), digest);
}

/* ---- The file ---- */

static int too_large(int code, const char *what, struct error *error)
{
    return err_set(error, code, "TerraformStateTooLarge",
                   "the state file has more than %s: divide the Spec", what);
}

/* data: initialised; the gzipped file is added. */
static int write_file(struct runtime *runtime, const struct ledger_records *records,
                      const struct runtime_mark *mark, struct buf *data, struct error *error)
{
    struct buf text;
    int r;

    buf_init(&text, MOST_TEXT);
    r = runtime->ops->foreign->write(runtime, records->items, records->count, mark, &text, error);
    if (r == ERR_TOO_LARGE)
        too_large(r, "16 MiB", error);
    if (r >= 0) {
        r = gzip_compress(text.data, text.length, data);
        if (r == ERR_TOO_LARGE)
            too_large(r, "1 MiB when it is gzipped, which is all that a Secret holds", error);
        else if (r < 0)
            err_set(error, r, NULL, "zlib does not work");
    }
    explicit_bzero(text.data, text.length);
    buf_done(&text);
    return r;
}

/* By what runtimes remember of their objects, of which the file is made. */
static bool is_large(const struct ledger_records *records)
{
    struct buf text;
    bool is_large;

    buf_init(&text, RUNTIME_SMALL_ANSWER);
    for (size_t i = 0; i < records->count && !buf_overflowed(&text); i++)
        if (records->items[i]->memory)
            json_write(&text, records->items[i]->memory, JSON_COMPACT);
    is_large = buf_overflowed(&text);
    explicit_bzero(text.data, text.length);
    buf_done(&text);
    return is_large;
}

/* The same. While it is made, a file takes many times its size in memory. */
static int make_file(const struct run *run, struct runtime *runtime, struct written *written,
                     const struct ledger_records *records, const struct runtime_mark *mark,
                     struct buf *data, struct error *error)
{
    const struct reconcile_context *context = run->context;
    struct slot slot = {.slots = context->slots, .namespace_name = run->subject.key.namespace_name};
    int r = 0;

    if (is_large(records))
        r = slot_take(&slot, context_monotonic(context) + SLOT_TIME, run->cancel, error);
    if (r == ERR_TIMEOUT) {
        written->is_put_off = true;
        err_set(error, r, "Timeout", "the state file is large, and others are made before it");
    }
    if (r >= 0)
        r = write_file(runtime, records, mark, data, error);
    slot_give_back(&slot);
    return r;
}

/* A lineage is a UUID. */
static void make_lineage(const struct run *run, const char *name, char ret[UUID_BYTES + 1])
{
    char hex[HASH_HEX_SIZE];
    struct hash *hash = hash_new();
    int64_t now = context_now(run->context);

    hash_add_str(hash, run->uid ? run->uid : "");
    hash_add_str(hash, name);
    hash_add(hash, &now, sizeof(now));
    hash_finish_hex(hash, hex);
    hash_free(hash);
    snprintf(ret, UUID_BYTES + 1, "%.8s-%.4s-4%.3s-8%.3s-%.12s", hex, hex + 8, hex + 12, hex + 15,
             hex + 18);
}

static size_t count_resources(const struct runtime *runtime, const struct ledger_records *records)
{
    size_t count = 0;

    for (size_t i = 0; i < records->count; i++)
        count += str_equal(records->items[i]->type, runtime->ops->type);
    return count;
}

/* ---- Writing ---- */

static void set(const struct value **object, const char *const *keys, size_t n_keys,
                const struct value *taken)
{
    const struct value *next = value_with_path(*object, keys, n_keys, taken);

    value_unref(*object);
    value_unref(taken);
    *object = next;
}

static void set_metadata(const struct value **object, const char *which, const char *key,
                         const struct value *taken)
{
    const char *const keys[] = {"metadata", which, key};

    set(object, keys, 3, taken);
}

/* Terraform lists workspaces by these. "tfstate-default-db": workspace "default", suffix "db". */
static void set_labels(const struct value **object, const char *name)
{
    const char *workspace, *dash;
    _cleanup_free_ char *first = NULL;

    if (!str_has_prefix(name, PREFIX) || strlen(name) > LABEL_BYTES)
        return;
    workspace = name + strlen(PREFIX);
    dash = strchr(workspace, '-');
    if (!dash)
        return;
    first = str_new_n(workspace, (size_t)(dash - workspace));
    set_metadata(object, "labels", "tfstate", value_pack("s", "true"));
    set_metadata(object, "labels", "tfstateWorkspace", value_pack("s", first));
    set_metadata(object, "labels", "tfstateSecretSuffix", value_pack("s", dash + 1));
    set_metadata(object, "labels", "app.kubernetes.io/managed-by", value_pack("s", "terraform"));
}

static void set_note(const struct run *run, const struct value **object, const struct buf *data,
                     const struct runtime_mark *mark, size_t n_resources)
{
    _cleanup_value_ const struct value *note = NULL;
    _cleanup_free_ char *text = NULL;
    char digest[HASH_HEX_SIZE];

    digest_of(run, data, mark, digest);
    note = value_pack("{s:s, s:s?, s:I, s:s, s:I, s:s}", "spec", run->subject.key.name, "uid",
                      run->uid, "resources", (int64_t)n_resources, "lineage", mark->lineage,
                      "serial", (int64_t)mark->serial, "digest", digest);
    text = json_to_str(note);
    set_metadata(object, "annotations", "encoding", value_pack("s", "gzip"));
    set_metadata(object, "annotations", WRITTEN, value_pack("s", text));
}

/* A reference: the Secret as it is to be. */
static const struct value *next_object(const struct run *run, const struct written *written,
                                       const struct buf *data, const struct runtime_mark *mark,
                                       size_t n_resources)
{
    static const char *const managed[] = {"metadata", "managedFields"};
    static const char *const at_data[] = {"data", KEY};
    const struct value *object =
        written->object ? value_copy_without(written->object, managed, ARRAY_SIZE(managed))
                        : value_pack("{s:s, s:s, s:{s:s, s:s}, s:s}", "apiVersion", "v1", "kind",
                                     "Secret", "metadata", "name", written->name, "namespace",
                                     run->subject.key.namespace_name, "type", "Opaque");
    struct buf text = BUF_INIT;

    base64_encode(&text, data->data, data->length);
    set(&object, at_data, 2, value_pack("s", text.data));
    explicit_bzero(text.data, text.length);
    buf_done(&text);
    set_labels(&object, written->name);
    set_note(run, &object, data, mark, n_resources);
    return object;
}

/* Terraform holds this Lease while it plans and applies. Without the right to look, it is not
 * known: then only the Secret's version guards what is written meanwhile. Where nobody answers, it
 * may be held. */
static int check_lock(const struct run *run, const char *name, struct error *error)
{
    _cleanup_free_ char *lease_name = str_printf("lock-%s", name);
    _cleanup_value_ const struct value *lease = NULL;
    struct error problem = {0};
    const char *holder;
    int r = get(run, &kube_leases, lease_name, NULL, &lease, &problem);

    if (r == ERR_NOT_FOUND || r == ERR_FORBIDDEN)
        return 0;
    if (r < 0)
        return err_copy(error, &problem);
    holder = value_string(value_path(lease, "spec", "holderIdentity", NULL));
    if (!holder || !*holder)
        return 0;
    return err_set(error, ERR_CONFLICT, LOCKED,
                   "Terraform holds the lock of the state, the Lease \"%s\"", lease_name);
}

/* Creates the Secret, or replaces it: ERR_EXISTS, ERR_CONFLICT. *ret: as it is then. */
static int put(const struct run *run, const char *name, const struct value *object,
               const struct value **ret, struct error *error)
{
    _cleanup_free_ char *user = run_user(run);
    bool is_there = value_path(object, "metadata", "resourceVersion", NULL);
    const struct kube_request request = {
        .method = is_there ? "PUT" : "POST",
        .ref = {&kube_secrets, run->subject.key.namespace_name, is_there ? name : NULL, NULL},
        .body = object,
        .impersonate = user,
        .for_tenant = true,
        .timeout = TIMEOUT,
        .cancel = run->cancel,
        .complete_once_sent = true,
        .permit = run->context->permit,
    };

    return kube_do(run->context->client, &request, ret, error);
}

static int replace(const struct run *run, struct runtime *runtime, struct written *written,
                   const struct ledger_records *records, struct error *error)
{
    struct runtime_mark mark = mark_of(written);
    _cleanup_value_ const struct value *object = NULL;
    char lineage[UUID_BYTES + 1];
    struct buf data;
    int r = written->object ? check_lock(run, written->name, error) : 0;

    if (r < 0)
        return r;
    make_lineage(run, written->name, lineage);
    mark.lineage = written->object ? mark.lineage : lineage;
    mark.serial++;
    buf_init(&data, MOST_BYTES);
    r = make_file(run, runtime, written, records, &mark, &data, error);
    if (r >= 0) {
        object = next_object(run, written, &data, &mark, count_resources(runtime, records));
        r = put(run, written->name, object, &written->now, error);
    }
    buf_done(&data);
    return r;
}

/* ---- All ---- */

/* 1: it is what would be written; 0: it is not, or what would be cannot be. */
static int is_same(const struct run *run, struct runtime *runtime, struct written *written,
                   const struct ledger_records *records, struct error *error)
{
    const struct runtime_mark mark = mark_of(written);
    struct error problem = {0};
    struct buf data;
    int r;

    buf_init(&data, MOST_BYTES);
    r = make_file(run, runtime, written, records, &mark, &data, &problem);
    if (r >= 0)
        r = data.length == written->data.length &&
            memcmp(data.data, written->data.data, data.length) == 0;
    buf_done(&data);
    return r == ERR_TIMEOUT || r == ERR_CANCELLED ? err_copy(error, &problem) : r > 0;
}

/* NOTHING; or the Secret is as it has to be. */
static int bring_up_to_date(const struct run *run, struct runtime *runtime, struct written *written,
                            const struct ledger_records *records, struct error *error)
{
    int r = load(run, written, error);

    if (r < 0)
        return r;
    if (!written->object && !count_resources(runtime, records))
        return NOTHING;
    if (written->object && !is_ours(run, written))
        return err_set(error, ERR_CONFLICT, OF_OTHER,
                       "the Secret \"%s\" is there already, and was not written for this Spec: "
                       "name another one, or delete it",
                       written->name);
    r = written->object ? is_same(run, runtime, written, records, error) : 0;
    if (r != 0)
        return r < 0 ? r : 0;
    if (written->object && !is_as_we_left_it(run, written))
        return err_set(error, ERR_CONFLICT, CHANGED,
                       "the Secret \"%s\" was changed since it was written, perhaps by Terraform, "
                       "and is left so: delete it to have it written again",
                       written->name);
    return replace(run, runtime, written, records, error);
}

/* ---- What is known of the last time ---- */

static char *version_of(const char *file, const struct value *secret)
{
    return str_printf("%s, %s %s", file, value_string(value_path(secret, "metadata", "uid", NULL)),
                      value_string(value_path(secret, "metadata", "resourceVersion", NULL)));
}

/* Neither State nor the Secret has changed: nothing is read, made, packed or compared. */
static bool is_as_known(const struct run *run, const char *file, const char *name)
{
    _cleanup_free_ char *known = desk_exported(run->context->desk, &run->subject.key);
    _cleanup_free_ char *version = NULL;
    _cleanup_value_ const struct value *secret = NULL;

    if (!known || !str_has_prefix(known, file) ||
        get(run, &kube_secrets, name, KUBE_METADATA, &secret, NULL) < 0)
        return false;
    version = version_of(file, secret);
    return str_equal(version, known);
}

/* ---- What is said of it ---- */

/* These change only with what somebody does, who does not wait for seconds. */
static bool may_heal(const struct error *error)
{
    return !str_equal(error->reason, OF_OTHER) && !str_equal(error->reason, CHANGED) &&
           error->code != ERR_INVALID && error->code != ERR_TOO_LARGE;
}

/* lacks: resources that may exist, and that the file does not have; "": none. */
static void note(struct run *run, const char *name, bool is_there, const char *lacks,
                 struct error *problem)
{
    struct run_written *written = &run->written;
    bool is_failure = problem->code;

    if (is_failure)
        err_wrap(problem, FIELD "Secret \"%s\"", name);
    free(written->message);
    written->is_tried = true;
    str_copy(written->reason, sizeof(written->reason), is_failure ? problem->reason : "Written");
    written->message = is_failure ? str_new(problem->message)
                       : is_there ? str_printf("Secret \"%s\" has the state file%s", name, lacks)
                                  : str_new("there is nothing to write yet");
    written->status = is_failure ? "False" : "True";
    written->retry_after = is_failure && may_heal(problem) ? run->policy.retry_interval : 0;
    if (is_failure && !run_says_written(run))
        run_event(run, EVENT_WARNING, written->reason, written->message);
    if (is_failure)
        log_warn("the state file for Terraform is not written", "namespace",
                 run->subject.key.namespace_name, "spec", run->subject.key.name, "reason",
                 problem->reason, "error", problem->message, NULL);
}

/* " without "ID" and 2 more, …"; "": it has all. */
static char *show_lacks(const struct runtime *runtime, const struct ledger_records *records)
{
    const struct record *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < records->count; i++) {
        const struct record *record = records->items[i];

        if (record->status != RECORD_CREATING || !str_equal(record->type, runtime->ops->type))
            continue;
        first = first ? first : record;
        count++;
    }
    return !first ? str_new("")
           : count == 1
               ? str_printf(", without \"%s\": it is not known if that was created", first->id)
               : str_printf(", without \"%s\" and %zu more: it is not known if these were created",
                            first->id, count - 1);
}

static const struct record *find_lost(const struct ledger_records *records)
{
    for (size_t i = 0; i < records->count; i++)
        if (records->items[i]->lost_revision)
            return records->items[i];
    return NULL;
}

bool spec_export_is_wanted(const struct run *run)
{
    return spec_secret_runtime(run) && spec_secret_of(run, "to").name &&
           !run->is_namespace_terminating;
}

int spec_export(struct run *run, struct ledger *ledger, bool is_check, struct error *error)
{
    struct runtime *runtime = spec_secret_runtime(run);
    _cleanup_(written_done) struct written written = {.name = spec_secret_of(run, "to").name,
                                                      .data = BUF_INIT};
    _cleanup_free_ char *file = NULL, *known = NULL, *lacks = NULL;
    const struct record *lost;
    struct ledger_records records;
    struct error problem = {0};
    int r;

    if (!spec_export_is_wanted(run))
        return 0;
    file = str_printf("%" PRIu64 " of %s", run_state_numbers(ledger).serial, written.name);
    records = ledger_records(ledger);
    lacks = show_lacks(runtime, &records);
    lost = find_lost(&records);
    if (lost) /* the file may be what they are restored from */
        err_set(&problem, ERR_INVALID, "StateLost",
                "it is left as it is until it is settled what became of \"%s\", of which State has "
                "lost what it knew",
                lost->id);
    if (lost || (is_check && is_as_known(run, file, written.name))) {
        ledger_records_done(&records);
        note(run, written.name, true, lacks, &problem);
        return 0;
    }
    r = bring_up_to_date(run, runtime, &written, &records, &problem);
    ledger_records_done(&records);
    if (r == 0)
        known = version_of(file, written.now ? written.now : written.object);
    desk_note_exported(run->context->desk, &run->subject.key, known);
    if (problem.code != ERR_CANCELLED && problem.code != ERR_FENCED)
        note(run, written.name, r != NOTHING, lacks, &problem);
    return written.is_put_off ? err_copy(error, &problem) : 0;
}
