/* Texts of sources: what is taken of them, what is refused, and how large they may be. */
#include "controller/reconcile/inputs/source_text.h"

#include "engine/base/buf.h"
#include "engine/base/str.h"
#include "engine/state/gzip.h"
#include "engine/value/json.h"
#include "engine/yaml/yaml.h"
#include "test/unit/suite.h"

#define LABEL "ConfigMap \"a\", key \"b\""
#define MAP   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: team}\n"
#define MADE                                                                                   \
    "[{\"id\":\"v1:ConfigMap:team:m\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":" \
    "\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\",\"namespace\":\"team\"}}}]"

static int read_text(const char *text, size_t length, bool is_secret, const struct value **ret,
                     struct error *error)
{
    struct source_resources resources;
    int r;

    source_resources_init(&resources);
    r = source_resources_add(&resources, LABEL, is_secret, text, length, error);
    if (r >= 0)
        r = source_resources_finish(&resources, ret, error);
    source_resources_done(&resources);
    return r;
}

static void takes_what_kubectl_and_kusion_write(void)
{
    static const struct {
        const char *note, *text, *resources;
    } rows[] = {
        {"a manifest", MAP, MADE},
        {"several documents, some empty", "---\n" MAP "---\n---\nnull\n", MADE},
        {"JSON",
         "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
         "\"namespace\":\"team\"}}",
         MADE},
        {"YAML that begins as JSON does",
         "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, "
         "namespace: team}}",
         MADE},
        {"a List",
         "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: "
         "{name: m, namespace: team}}\n",
         MADE},
        {"a list", "- {apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: team}}\n",
         MADE},
        {"no namespace", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n",
         "[{\"id\":\"v1:ConfigMap:m\",\"type\":\"Kubernetes\",\"attributes\":{\"apiVersion\":"
         "\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"}}}]"},
        {"resources", "resources:\n- {id: a, type: T, dependsOn: [b], attributes: {x: 1}}\n",
         "[{\"id\":\"a\",\"type\":\"T\",\"dependsOn\":[\"b\"],\"attributes\":{\"x\":1}}]"},
        {"a resource alone", "id: a\ntype: T\nextensions: {e: 1}\n",
         "[{\"id\":\"a\",\"type\":\"T\",\"attributes\":null,\"extensions\":{\"e\":1}}]"},
        {"none, and says so", "resources: []\n", "[]"},
        {"none, beside what is empty", "resources: []\ncontext: {}\n", "[]"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        for (int zipped = 0; zipped < 2; zipped++) {
            _cleanup_buf_ struct buf bytes = BUF_INIT;
            _cleanup_value_ const struct value *list = NULL;
            _cleanup_free_ char *text = NULL;
            struct error error = {0};

            if (zipped)
                gzip_compress(rows[i].text, strlen(rows[i].text), &bytes);
            else
                buf_add_str(&bytes, rows[i].text);
            EXPECT_INT(read_text(bytes.data, bytes.length, false, &list, &error), 0, error.message);
            text = json_to_str(list);
            EXPECT_STR(text, rows[i].resources, rows[i].note);
        }
}

static void refuses_with_line_and_cause(void)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", LABEL " has no document; `resources: []` says that there are no resources"},
        {"---\n", LABEL " has no document; `resources: []` says that there are no resources"},
        {"a: [", LABEL ", line 2, column 1: while parsing a flow node: did not find expected node "
                       "content"},
        {"5",
         LABEL ", line 1: neither an object of Kubernetes, nor a resource, but of type number"},
        {MAP "---\na: 1\n", LABEL
         ", line 4: neither an object of Kubernetes (`apiVersion` and `kind`), nor a resource "
         "(`id` and `type`), nor a list of them (`resources`)"},
        {"apiVersion: v1\nkind: A\n", LABEL ", line 1: A without metadata.name"},
        {"resources: [{id: a}]",
         LABEL ", line 1: a resource has to have a string `id`, and a string `type`"},
        {"id: 5\ntype: T",
         LABEL ", line 1: a resource has to have a string `id`, and a string `type`"},
        {"id: a\ntype: T\ndepends_on: []",
         LABEL ", line 1: the resource \"a\" has an unknown field \"depends_on\""},
        {"resources: []\ncontext: {a: b}",
         LABEL ", line 1: \"context\" beside `resources`: that belongs into the Spec itself"},
        {"apiVersion: api.kusion.io/v1\nkind: Spec\n",
         LABEL ", line 1: an object of api.kusion.io is no resource; of a Spec, put in the list "
               "`resources`"},
        {"[[[[[]]]]]", LABEL ", line 1: lists are nested 4 levels deep at most"},
        {MAP "---\n" MAP,
         LABEL ", line 4: the resource \"v1:ConfigMap:team:m\" is there twice; the "
               "first one: " LABEL ", line 1"},
        {"\x1f\x8b cut", LABEL ": gzip that is cut or damaged"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *list = NULL;
        struct error error = {0};

        EXPECT_INT(read_text(rows[i].text, strlen(rows[i].text), false, &list, &error), ERR_INVALID,
                   rows[i].text);
        EXPECT_STR(error.message, rows[i].message, rows[i].text);
        EXPECT_STR(error.reason, "InvalidSource", rows[i].text);
    }
}

static void what_a_secret_has_is_sensitive(void)
{
    static const char text[] = MAP "data: {a: b}\n---\nid: x\ntype: T\nattributes: {p: q}\n"
                                   "extensions: {e: f}\n";
    _cleanup_value_ const struct value *list = NULL;
    const struct value *map, *other;

    EXPECT_INT(read_text(text, strlen(text), true, &list, NULL), 0, "read");
    map = value_get(value_at(list, 0), "attributes");
    other = value_at(list, 1);
    EXPECT(value_is_sensitive(value_get(map, "data")), "data");
    EXPECT(!value_has_sensitive(value_get(map, "metadata")), "the id has it as well");
    EXPECT(!value_has_sensitive(value_get(map, "kind")), "likewise");
    EXPECT(value_is_sensitive(value_path(other, "attributes", "p", NULL)), "of any runtime");
    EXPECT(value_is_sensitive(value_get(other, "extensions")), "extensions");
    EXPECT(!value_has_sensitive(value_get(other, "id")), "ids are shown");
}

static void a_message_about_a_secret_has_none_of_its_text(void)
{
    static const char *const rows[] = {"hunter2: [",         "{\"a\": hunter2}",
                                       "a: 0e0967014998816", "a: &hunter2 *hunter3",
                                       "? [hunter2]\n: 1",   "hunter2: 1\nhunter2: 2"};

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct value *list = NULL;
        struct error error = {0};

        EXPECT(read_text(rows[i], strlen(rows[i]), true, &list, &error) < 0, rows[i]);
        EXPECT(!strstr(error.message, "hunter") && !strstr(error.message, "0967"), error.message);
        EXPECT(strstr(error.message, "line "), error.message);
    }
}

/* ---- Sizes ---- */

static void sizes_are_bounded(void)
{
    static char blanks[SOURCE_TEXT_BYTES + 1];
    _cleanup_buf_ struct buf packed = BUF_INIT, more = BUF_INIT;
    struct source_size size = {0};
    struct error error = {0};

    memset(blanks, ' ', sizeof(blanks));
    EXPECT_INT(source_text_measure(blanks, SOURCE_BYTES, &size, &error), 0, "as it is stored");
    EXPECT_INT(size.text, SOURCE_BYTES, "its bytes");
    EXPECT_INT(source_text_measure(blanks, SOURCE_BYTES + 1, &size, &error), ERR_TOO_LARGE, "more");
    size = (struct source_size){0};
    gzip_compress(blanks, SOURCE_TEXT_BYTES, &packed);
    EXPECT_INT(source_text_measure(packed.data, packed.length, &size, &error), 0, "unzipped");
    EXPECT_INT(source_text_measure(packed.data, packed.length, &size, &error), 0, "all of a Spec");
    EXPECT_INT(source_text_measure("a", 1, &size, &error), ERR_TOO_LARGE, "and a byte");
    EXPECT(strstr(error.message, "64 MiB"), error.message);
    gzip_compress(blanks, SOURCE_TEXT_BYTES + 1, &more);
    size = (struct source_size){0};
    EXPECT_INT(source_text_measure(more.data, more.length, &size, &error), ERR_TOO_LARGE, "a bomb");
    EXPECT(strstr(error.message, "32 MiB"), error.message);
    size = (struct source_size){0};
    EXPECT_INT(source_text_measure(packed.data, packed.length - 1, &size, &error), ERR_INVALID,
               "cut");
}

/* What the values of a text take is what was reserved for them, at most. */
static void memory_is_estimated_from_above(void)
{
    static const struct {
        const char *begin, *each, *end;
    } rows[] = {
        {"{\"resources\":[],\"x\":[", "1,", "1]}"},
        {"[", "[],", "[]]"},
        {"", "- 1\n", ""},
        {"", "- - - - - - 1\n", ""},
        {"", "- {a: b, c: [d, e]}\n", ""},
        {"", "---\n- 1\n", ""},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_buf_ struct buf text = BUF_INIT;
        struct source_size size = {0};
        const struct value **values = NULL;
        size_t count = 0, bytes = 0;

        buf_add_str(&text, rows[i].begin);
        for (int n = 0; n < 5000; n++)
            buf_add_str(&text, rows[i].each);
        buf_add_str(&text, rows[i].end);
        source_text_measure(text.data, text.length, &size, NULL);
        EXPECT_INT(yaml_read_all(text.data, text.length, &values, &count, NULL), 0, rows[i].each);
        for (size_t n = 0; n < count; n++)
            bytes += value_memory(values[n]);
        EXPECT(bytes && bytes <= size.memory, rows[i].each);
        yaml_free_all(values, count);
    }
}

SUITE(source_text, TEST(takes_what_kubectl_and_kusion_write), TEST(refuses_with_line_and_cause),
      TEST(what_a_secret_has_is_sensitive), TEST(a_message_about_a_secret_has_none_of_its_text),
      TEST(sizes_are_bounded), TEST(memory_is_estimated_from_above))
