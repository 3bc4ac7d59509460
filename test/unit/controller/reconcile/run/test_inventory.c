/* Which objects a Spec's status says that it owns. */
#include "controller/reconcile/records/context.h"
#include "controller/reconcile/run/inventory.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "runtimes/io/clock.h"
#include "test/unit/engine/memory_store.h"
#include "test/unit/suite.h"

static void expect_json(const struct value *actual, const char *expected, const char *note)
{
    _cleanup_free_ char *text = json_to_str(actual);

    EXPECT_STR(text, expected, note);
}

struct desk {
    struct memory_medium *medium;
    struct store *store;
    struct ledgers *ledgers;
    struct ledger *ledger;
};

static void desk_begin(struct desk *desk)
{
    const struct ledger_opening opening = {.key = {"team", "web"}, .spec_uid = "u"};
    struct error error = {0};

    desk->medium = memory_medium_new(NULL);
    desk->store = memory_store_new(desk->medium);
    desk->ledgers =
        ledgers_new(&(struct ledgers_config){.store = desk->store, .clock = &system_clock});
    EXPECT_INT(ledger_open(desk->ledgers, &opening, &desk->ledger, &error), 0, error.message);
}

static void desk_end(struct desk *desk)
{
    ledger_unref(desk->ledger);
    ledgers_free(desk->ledgers);
    desk->store->ops->free(desk->store);
    memory_medium_free(desk->medium);
}

static const struct runtime_ops cloud_ops = {.type = "Cloud", .flags = RUNTIME_IS_RECORDED};
static const struct runtime_ops kubernetes_ops = {.type = "Kubernetes"};
static struct runtime cloud = {&cloud_ops}, kubernetes = {&kubernetes_ops};
static struct runtime *const runtimes[] = {&cloud, &kubernetes};
static const struct reconcile_context context = {.runtimes = runtimes,
                                                 .n_runtimes = ARRAY_SIZE(runtimes)};

enum kind { LASTS, REMOVES_ITSELF, ONLY_READ };

static void record_of(struct desk *desk, const char *type, const char *id,
                      enum record_status status, enum kind kind)
{
    _cleanup_value_ const struct value *attributes = value_pack("{}");
    _cleanup_(record_unref_p) const struct record *put =
        record_new(&(struct record){.status = status,
                                    .id = id,
                                    .type = type,
                                    .attributes = attributes,
                                    .revision = 1,
                                    .is_done = kind == REMOVES_ITSELF,
                                    .is_only_read = kind == ONLY_READ,
                                    .call = {.id = status == RECORD_CREATING ? "c" : NULL}});
    struct ledger_change change = {.put = put};
    struct error error = {0};

    EXPECT_INT(ledger_begin(desk->ledger, &change, 1, &error), 0, error.message);
}

static void record(struct desk *desk, const char *id, enum record_status status, enum kind kind)
{
    record_of(desk, "Kubernetes", id, status, kind);
}

static void lists_what_exists(void)
{
    _cleanup_value_ const struct value *none = NULL, *some = NULL;
    struct desk desk;

    desk_begin(&desk);
    none = inventory_value(&context, desk.ledger);
    expect_json(none, "{\"total\":0,\"entries\":[],\"omitted\":0}", "nothing");
    record(&desk, "b", RECORD_APPLIED, LASTS);
    record(&desk, "intent", RECORD_INTENT, LASTS);
    record(&desk, "a", RECORD_TAINTED, LASTS);
    record(&desk, "job", RECORD_APPLIED, REMOVES_ITSELF);
    record(&desk, "data", RECORD_APPLIED, ONLY_READ);
    some = inventory_value(&context, desk.ledger);
    expect_json(some,
                "{\"total\":2,\"entries\":[{\"id\":\"a\",\"type\":\"Kubernetes\"},{\"id\":\"b\","
                "\"type\":\"Kubernetes\"}],\"omitted\":0}",
                "by id, without intents, what removes itself, and what is only read");
    desk_end(&desk);
}

static void bounds_the_inventory(void)
{
    static const struct {
        const char *note;
        int n, id_bytes, listed;
    } rows[] = {
        {"as many as are listed", INVENTORY_ENTRIES, 4, INVENTORY_ENTRIES},
        {"more", INVENTORY_ENTRIES + 3, 4, INVENTORY_ENTRIES},
        {"long ids", 20, 1000, 16},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_value_ const struct value *inventory = NULL;
        struct desk desk;

        desk_begin(&desk);
        for (int n = 0; n < rows[i].n; n++) {
            _cleanup_free_ char *id = str_printf("%0*d", rows[i].id_bytes, n);

            record(&desk, id, RECORD_APPLIED, LASTS);
        }
        inventory = inventory_value(&context, desk.ledger);
        EXPECT_INT(value_int(value_get(inventory, "total"), -1), rows[i].n, rows[i].note);
        EXPECT_INT(value_count(value_get(inventory, "entries")), rows[i].listed, rows[i].note);
        EXPECT_INT(value_int(value_get(inventory, "omitted"), -1), rows[i].n - rows[i].listed,
                   rows[i].note);
        desk_end(&desk);
    }
}

/* Should State be lost, nothing else tells of them. */
static void lists_first_what_state_alone_knows(void)
{
    static const char *const firsts[] = {"x", "y", "000", "001"};
    _cleanup_value_ const struct value *inventory = NULL;
    struct desk desk;

    desk_begin(&desk);
    for (int n = 0; n < INVENTORY_ENTRIES; n++) {
        _cleanup_free_ char *id = str_printf("%03d", n);

        record(&desk, id, RECORD_APPLIED, LASTS);
    }
    record_of(&desk, "Cloud", "y", RECORD_APPLIED, LASTS);
    record_of(&desk, "Cloud", "x", RECORD_APPLIED, LASTS);
    inventory = inventory_value(&context, desk.ledger);
    for (size_t i = 0; i < ARRAY_SIZE(firsts); i++)
        EXPECT_STR(value_get_string(value_at(value_get(inventory, "entries"), i), "id"), firsts[i],
                   "by id, of each kind");
    EXPECT_INT(value_int(value_get(inventory, "omitted"), -1), 2, "others");
    desk_end(&desk);
}

SUITE(inventory, TEST(lists_what_exists), TEST(bounds_the_inventory),
      TEST(lists_first_what_state_alone_knows))
