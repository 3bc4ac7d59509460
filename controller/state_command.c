#include "controller/state_command.h"

#include <stdio.h>
#include <string.h>

#include "controller/leadership.h"
#include "controller/state/copy.h"
#include "controller/state/view.h"
#include "controller/stores.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/io/clock.h"

#define USAGE                                                                                   \
    "usage: kusion-operator state list                            all States of the store\n"    \
    "       kusion-operator state show NAMESPACE/NAME [--reveal]  one, as JSON; sensitive "     \
    "values are null without --reveal\n"                                                        \
    "       kusion-operator state releases NAMESPACE/NAME         its Releases, as a JSON "     \
    "List\n"                                                                                    \
    "       kusion-operator state verify                          reads all that the store "    \
    "keeps\n"                                                                                   \
    "       kusion-operator state copy --from PLACE --to PLACE    moves it to another store, "  \
    "while no operator runs\n"                                                                  \
    "       kusion-operator state rekey                           seals all with the key that " \
    "--state-key names first, while no operator runs\n"                                         \
    "with flags of the operator: --state-backend PLACE, --state-namespace NAME, --kubeconfig "  \
    "FILE, …\n"                                                                               \
    "without --kubeconfig: the cluster of $KUBECONFIG, else that of the pod, else that of "     \
    "~/.kube/config\n"

/* What was asked for. */
struct command {
    struct flags flags;
    const char *from, *to;
    char *namespace_name;
    const char *name; /* behind it */
    bool reveals;
};

/* ---- The stores ---- */

struct place {
    struct opened_store opened;
    struct state_side side;
};

static int open_place(const struct connection *connection, const char *flag, const char *place,
                      struct place *ret, struct error *error)
{
    int r = stores_open(connection, flag, place, &ret->opened, error);

    if (r < 0)
        return r;
    ret->side = (struct state_side){
        .base = ret->opened.base,
        .store = ret->opened.store,
        .history = stores_make_history(connection, &ret->opened, ret->opened.store),
        .place = ret->opened.place,
        .has_releases = ret->opened.has_releases,
    };
    return 0;
}

static void close_place(struct place *place)
{
    if (place->side.history)
        place->side.history->ops->free(place->side.history);
    stores_close(&place->opened);
}

/* ---- Reading ---- */

static int view(const struct command *command, const char *verb, const struct state_side *side,
                struct buf *text, struct error *error)
{
    static const struct store_call call;
    const struct spec_key spec = {command->namespace_name, command->name};

    if (str_equal(verb, "list"))
        return state_list(side, &call, text, error);
    if (str_equal(verb, "verify"))
        return state_verify(side, &call, text, error);
    return str_equal(verb, "releases")
               ? state_releases(side, &spec, &call, text, error)
               : state_show(side, &spec, command->reveals, &call, text, error);
}

/* A store that is not in the cluster is read without one. */
static int run_view(const struct command *command, const char *verb, struct error *error)
{
    const char *place = command->flags.state_backend;
    _cleanup_(connection_done) struct connection connection = {.flags = &command->flags,
                                                               .is_typed = true};
    _cleanup_buf_ struct buf text = BUF_INIT;
    struct place store = {0};
    bool needs_cluster = false;
    int r = stores_check("--state-backend", place, &needs_cluster, error);

    if (r >= 0 && needs_cluster) {
        r = connection_init(&connection, &command->flags, error);
        if (r >= 0)
            r = connection_open(&connection, NULL, NULL, error);
    }
    if (r >= 0)
        r = open_place(&connection, "--state-backend", place, &store, error);
    if (r >= 0)
        r = view(command, verb, &store.side, &text, error);
    if (text.length)
        fputs(text.data, stdout);
    close_place(&store);
    return r;
}

/* ---- Alone ---- */

/* What is done as a leader does it: no operator begins meanwhile. */
typedef int alone(const struct command *command, const struct connection *connection,
                  const struct store_call *call, struct error *error);

/* While this process waits for the Lease, whoever has it would go on writing. */
static int refuse_if_held(const struct flags *flags, struct cancel *stop, struct error *error)
{
    struct flags without = *flags;
    _cleanup_(connection_done) struct connection connection = {.is_typed = true};
    _cleanup_(leadership_free_p) struct leadership *leadership = NULL;
    int r;

    without.leader_elect = false;
    r = connection_init(&connection, &without, error);
    if (r >= 0) {
        leadership = leadership_new(&connection);
        r = connection_open(&connection, NULL, NULL, error);
    }
    if (r >= 0)
        r = leadership_take(leadership, stop, error);
    if (r == ERR_CONFLICT)
        err_wrap(error, "stop the operator before (kubectl scale --replicas=0)");
    return r;
}

static int copy(const struct command *command, const struct connection *connection,
                const struct store_call *call, struct error *error)
{
    struct place from = {0}, to = {0};
    struct state_copied copied;
    int r = open_place(connection, "--from", command->from, &from, error);

    if (r >= 0)
        r = open_place(connection, "--to", command->to, &to, error);
    if (r >= 0)
        r = copy_state(&from.side, &to.side, call, &copied, error);
    if (r >= 0 && copied.was_done)
        printf("State is in %s already\n", to.side.place);
    else if (r >= 0)
        printf("%zu documents are in %s, and were read back (%zu written, %zu removed, %zu "
               "Releases made); %s is marked as moved, and no operator uses it any more\n"
               "now start the operator with --state-backend=%s\n",
               copied.documents, to.side.place, copied.written, copied.removed, copied.releases,
               from.side.place, command->to);
    close_place(&from);
    close_place(&to);
    return r;
}

static void tell_problem(void *arg, const struct document_name *name, const struct error *problem)
{
    (void)arg;
    fprintf(stderr, "kusion-operator: state rekey: %s of %s/%s: %s\n",
            document_kind_name(name->kind), name->spec.namespace_name, name->spec.name,
            problem->message);
}

static int rekey(const struct command *command, const struct connection *connection,
                 const struct store_call *call, struct error *error)
{
    struct seal_rekeyed done = {0};
    struct seal_counts counts = {0};
    struct place place = {0};
    int r = open_place(connection, "--state-backend", command->flags.state_backend, &place, error);

    if (r >= 0 && !place.opened.keys)
        r = err_set(error, ERR_INVALID, "InvalidFlag", "say --state-key: nothing is sealed");
    if (r >= 0)
        r = seal_store_rekey(place.side.store, call, tell_problem, NULL, &done, error);
    if (r >= 0)
        r = seal_store_count(place.side.store, call, tell_problem, NULL, &counts, error);
    if (r >= 0) {
        printf("of %zu documents %zu were sealed anew, and %zu could not be\n", done.documents,
               done.written, done.failed);
        for (size_t i = 0; i < counts.n; i++)
            printf("%zu need the key %s\n", counts.counts[i].documents, counts.counts[i].key);
    }
    if (r >= 0 && done.failed)
        r = err_set(error, ERR_CORRUPT, "StateCorrupt", "%zu documents could not be sealed anew",
                    done.failed);
    seal_counts_done(&counts);
    close_place(&place);
    return r;
}

static int run_alone(const struct command *command, alone *fn, struct error *error)
{
    struct flags flags = command->flags;
    _cleanup_(cancel_free_p) struct cancel *stop = cancel_new(NULL);
    _cleanup_(connection_done) struct connection connection = {.is_typed = true};
    _cleanup_(leadership_free_p) struct leadership *leadership = NULL;
    int r = refuse_if_held(&flags, stop, error);

    flags.leader_elect = true;
    if (r >= 0)
        r = connection_init(&connection, &flags, error);
    if (r >= 0) {
        leadership = leadership_new(&connection);
        r = connection_open(&connection, leadership_guard, leadership, error);
    }
    if (r >= 0)
        r = leadership_take(leadership, stop, error);
    if (r >= 0) {
        const struct store_call call = {.permit = leadership_permit(leadership)};

        r = fn(command, &connection, &call, error);
    }
    return r;
}

static int run_copy(const struct command *command, struct error *error)
{
    bool ignored;
    int r = stores_check("--from", command->from, &ignored, error);

    if (r >= 0)
        r = stores_check("--to", command->to, &ignored, error);
    return r < 0 ? r : run_alone(command, copy, error);
}

/* ---- The command line ---- */

static int take_value(char **argv, int argc, int *at, const char *name, const char **ret,
                      struct error *error)
{
    size_t length = strlen(name);
    const char *word = argv[*at];

    if (strncmp(word, name, length) != 0 || (word[length] && word[length] != '='))
        return 0;
    *ret = word[length] ? word + length + 1 : *at + 1 < argc ? argv[++*at] : NULL;
    return *ret && **ret ? 1 : err_set(error, ERR_INVALID, "InvalidFlag", "%s needs a value", name);
}

/* Of a flag before it. */
static bool is_value(char **argv, int at)
{
    const char *before = argv[at - 1];

    return at > 3 && *before == '-' && !strchr(before, '=') && !str_equal(before, "--reveal");
}

/* 1: it is a word of ours, else it is a flag of the operator. */
static int take_word(struct command *command, char **argv, int argc, int *at, struct error *error)
{
    const char *word = argv[*at], *slash = strchr(word, '/');
    int r = take_value(argv, argc, at, "--from", &command->from, error);

    if (r == 0)
        r = take_value(argv, argc, at, "--to", &command->to, error);
    if (r == 0 && str_equal(word, "--reveal")) {
        command->reveals = true;
        return 1;
    }
    if (r == 0 && *word != '-' && slash && !command->name && !is_value(argv, *at)) {
        command->namespace_name = str_new_n(word, (size_t)(slash - word));
        command->name = slash + 1;
        return 1;
    }
    return r;
}

static int parse(int argc, char **argv, struct command *ret, struct error *error)
{
    _cleanup_free_ char **rest = NEW_ARRAY(char *, (size_t)argc + 1);
    int count = 0, r = 0;

    rest[count++] = argv[0];
    for (int i = 3; i < argc && r >= 0; i++) {
        r = take_word(ret, argv, argc, &i, error);
        if (r == 0)
            rest[count++] = argv[i];
    }
    if (r >= 0)
        r = flags_parse(count, rest, &ret->flags, error);
    return r;
}

static int run(const struct command *command, const char *verb, struct error *error)
{
    bool is_copy = str_equal(verb, "copy");
    bool is_of_spec = str_equal(verb, "show") || str_equal(verb, "releases");

    if (is_copy && command->from && command->to)
        return run_copy(command, error);
    if (!is_copy && is_of_spec == (command->name != NULL) && !command->from && !command->to)
        return str_equal(verb, "rekey") ? run_alone(command, rekey, error)
                                        : run_view(command, verb, error);
    return err_set(
        error, ERR_INVALID, "InvalidFlag", "%s",
        is_copy ? "copy: say --from PLACE and --to PLACE"
                : "say NAMESPACE/NAME of a Spec for show and releases, and for nothing else");
}

static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"list", "show", "releases", "verify", "copy", "rekey"};

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
        if (str_equal(word, verbs[i]))
            return true;
    return false;
}

int state_command(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[2] : NULL;
    struct command command = {0};
    struct error error = {0};
    int r;

    if (!is_verb(verb)) {
        bool is_help = str_equal(verb, "--help") || str_equal(verb, "help");

        fputs(USAGE, is_help ? stdout : stderr);
        return is_help ? 0 : 2;
    }
    r = parse(argc, argv, &command, &error);
    if (r >= 0)
        r = run(&command, verb, &error);
    if (r < 0)
        fprintf(stderr, "kusion-operator: state %s: %s\n", verb, error.message);
    free(command.namespace_name);
    return r >= 0 ? 0 : str_equal(error.reason, "InvalidFlag") ? 2 : 1;
}
