#include "test/unit/engine/operation/fake_store.h"

#include <unistd.h>

#include "engine/base/str.h"
#include "engine/state/codec.h"
#include "engine/store/names.h"
#include "engine/value/json.h"
#include "test/unit/suite.h"

static const struct document_name state_name = {DOCUMENT_STATE, {"team", "s"}, NULL};

static char *text_of(struct state *state)
{
    static const char *const marks[] = {[RECORD_INTENT] = "?",
                                        [RECORD_CREATING] = "*",
                                        [RECORD_APPLIED] = "",
                                        [RECORD_TAINTED] = "!"};
    struct buf text = BUF_INIT;

    for (size_t i = 0; i < state_count(state); i++) {
        const struct record *record = state_at(state, i);

        buf_printf(&text, "%s%s%s%s", i ? " " : "", short_name(record->id),
                   record->deposed ? "'" : "", marks[record->status]);
    }
    return buf_take(&text);
}

/* ---- What is there ---- */

static int read_document(const struct fake_store *store, const struct document_name *name,
                         struct document *ret)
{
    const struct store_call call = {.use = PERMIT_ACT};
    const struct store_ops *ops = store->reader->ops;
    struct store_file *file = NULL;
    int r = ops->open(store->reader, name, STORE_READ, &call, &file, NULL);

    if (r >= 0)
        r = ops->read(file, &call, ret, NULL);
    ops->close(file);
    return r;
}

struct state *fake_store_state(const struct fake_store *store)
{
    struct document document = DOCUMENT_INIT;
    struct state *state = NULL;
    struct error error = {0};

    if (read_document(store, &state_name, &document) == 0)
        EXPECT_INT(state_decode(&document, &state, &error), 0, error.message);
    document_done(&document);
    return state;
}

char *fake_store_text(const struct fake_store *store)
{
    _cleanup_(state_free_p) struct state *state = fake_store_state(store);

    return state ? text_of(state) : str_new("none");
}

void fake_store_put(struct fake_store *store, const struct state *state)
{
    const struct store_call call = {.use = PERMIT_ACT};
    const struct store_ops *ops = store->reader->ops;
    struct document before = DOCUMENT_INIT, document = DOCUMENT_INIT;
    struct store_file *file = NULL;

    CU_ASSERT_EQUAL_FATAL(state_encode(state, &document, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ops->open(store->reader, &state_name, STORE_WRITE, &call, &file, NULL),
                          0);
    ops->read(file, &call, &before, NULL);
    CU_ASSERT_EQUAL_FATAL(ops->write(file, &call, &document, NULL), 0);
    ops->close(file);
    document_done(&before);
    document_done(&document);
}

void fake_store_damage(struct fake_store *store)
{
    memory_damage(store->medium, &state_name, "secret part");
}

struct showing {
    const struct fake_store *store;
    struct buf text;
    bool is_whole;
};

static void add_secret_part(struct buf *to, const struct document *document)
{
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;

    if (value_expand(document->secret.data, document->secret.length, &value, NULL) == 0)
        text = json_to_str(value);
    buf_printf(to, "%s\n", text ? text : document->secret.data);
}

static int show_open(void *arg, const struct document_name *name, struct error *error)
{
    struct showing *showing = arg;
    struct document document = DOCUMENT_INIT;
    _cleanup_value_ const struct value *value = NULL;
    _cleanup_free_ char *text = NULL;

    EXPECT_INT(read_document(showing->store, name, &document), 0, "read");
    if (value_expand(document.open.data, document.open.length, &value, error) == 0)
        text = json_to_str(value);
    buf_printf(&showing->text, "%s\n", text ? text : document.open.data);
    if (showing->is_whole && document.secret.length)
        add_secret_part(&showing->text, &document);
    document_done(&document);
    return 0;
}

static char *show(const struct fake_store *store, bool is_whole)
{
    const struct store_call call = {.use = PERMIT_ACT};
    struct showing showing = {store, BUF_INIT, is_whole};

    for (int kind = 0; kind < DOCUMENT_KINDS; kind++)
        store->reader->ops->list(store->reader, (enum document_kind)kind, NULL, show_open, &showing,
                                 &call, NULL);
    return buf_take(&showing.text);
}

char *fake_store_open_text(const struct fake_store *store)
{
    return show(store, false);
}

char *fake_store_whole_text(const struct fake_store *store)
{
    return show(store, true);
}

/* ---- Changes ---- */

static enum store_fault fault_of_save(struct fake_store *store)
{
    unsigned save = ++store->saves;

    if (save == store->conflict_at)
        return FAULT_CONFLICT;
    if (save == store->fail_at)
        return FAULT_BEFORE;
    return save == store->lose_at ? FAULT_AFTER : FAULT_NONE;
}

/* About to happen. */
static enum store_fault before(struct fake_store *store, const struct faulty_event *event)
{
    enum store_fault fault = FAULT_NONE;

    while (atomic_load(&store->is_held))
        usleep(1000);
    if (fake_world_enter(store->world, NULL) < 0) {
        faulty_store_kill(event->store);
        return FAULT_NONE;
    }
    if (store->is_down)
        fault = FAULT_BEFORE;
    else if (event->name->kind == DOCUMENT_STATE &&
             (event->call == FAULTY_WRITE || event->call == FAULTY_APPEND))
        fault = fault_of_save(store);
    if (fault == FAULT_AFTER)
        fake_world_step(store->world, NULL, "lose");
    else
        fake_world_leave(store->world);
    return fault;
}

static char *text_of_change(struct fake_store *store, const struct faulty_event *event)
{
    bool removes = event->call == FAULTY_REMOVE;
    _cleanup_free_ char *text = NULL;

    if (event->name->kind == DOCUMENT_OUTCOME)
        return str_new(removes ? "untell" : "tell");
    if (event->name->kind != DOCUMENT_STATE)
        return str_printf("%s a %s", removes ? "remove" : "write",
                          document_kind_name(event->name->kind));
    if (removes)
        return str_new("remove State");
    text = fake_store_text(store);
    return str_printf("save%s%s", *text ? " " : "", text);
}

static void after(struct fake_store *store, const struct faulty_event *event)
{
    _cleanup_free_ char *text = text_of_change(store, event);
    int r = fake_world_enter(store->world, NULL);

    if (r >= 0)
        r = fake_world_step(store->world, NULL, "%s", text);
    if (r < 0)
        faulty_store_kill(event->store);
}

static enum store_fault on_call(void *arg, const struct faulty_event *event)
{
    struct fake_store *store = arg;

    if (!event->is_done)
        return before(store, event);
    if (event->call != FAULTY_READ)
        after(store, event);
    return FAULT_NONE;
}

static bool is_real_taken; /* a stage beside another has its medium in memory */

static struct store *attach(const struct fake_store *store)
{
    return store->is_real ? real_store_attach() : memory_store_new(store->medium);
}

/* Of what the life before has left on a server. */
static void empty(struct store *store)
{
    const struct store_call call = {.use = PERMIT_ACT};
    struct error error = {0};

    for (int kind = 0; kind < DOCUMENT_KINDS; kind++) {
        _cleanup_(names_done) struct names names = NAMES_INIT;
        int r = names_list(&names, store, (enum document_kind)kind, &call, &error);

        for (size_t i = 0; i < names.count && r >= 0; i++)
            r = store_drop(store, &names.items[i], &call, &error);
        EXPECT_INT(r < 0 ? r : 0, 0, error.message);
    }
}

void fake_store_init(struct fake_store *store, struct fake_world *world)
{
    *store = (struct fake_store){.world = world, .is_real = real_store_attach && !is_real_taken};
    is_real_taken |= store->is_real;
    store->medium = memory_medium_new(&(struct memory_medium_config){.has_locks = true});
    store->reader = attach(store);
    if (store->is_real)
        empty(store->reader);
    store->faults = store_faults_new();
    store_faults_watch(store->faults, on_call, store);
}

void fake_store_done(struct fake_store *store)
{
    store->reader->ops->free(store->reader);
    memory_medium_free(store->medium);
    store_faults_free(store->faults);
    if (store->is_real)
        is_real_taken = false;
}

void fake_store_cut(struct fake_store *store, bool is_down)
{
    pthread_mutex_lock(&store->world->lock);
    store->is_down = is_down;
    pthread_mutex_unlock(&store->world->lock);
}

struct store *fake_store_attach(struct fake_store *store)
{
    store->store = faulty_store_new(store->faults, attach(store));
    store->saves = 0;
    return store->store;
}

void fake_store_detach(struct fake_store *store)
{
    faulty_store_kill(store->store);
    store->store->ops->free(store->store);
    store->store = NULL;
}
