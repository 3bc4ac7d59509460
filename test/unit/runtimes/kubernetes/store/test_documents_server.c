/* The documents in an API server: that they keep the contract of stores, what is damage, and what
 * they cost. */
#include <unistd.h>

#include "engine/base/base64.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/value/json.h"
#include "test/unit/engine/store_contract.h"
#include "test/unit/runtimes/kubernetes/store/served.h"
#include "test/unit/suite.h"

static const struct store_call plain;

/* ---- The contract ---- */

/* Puts an object in the place of one that may be immutable. */
static void put_back(struct live *live, const char *path, const struct value *object)
{
    static const char *const version[] = {"metadata", "resourceVersion"};
    _cleanup_free_ char *collection = str_new_n(path, (size_t)(strrchr(path, '/') - path));
    _cleanup_value_ const struct value *bare = value_without_path(object, version, 2);
    _cleanup_free_ char *text = json_to_str(bare);

    EXPECT_INT(live_do(live, "DELETE", path, NULL, NULL, NULL), 0, path);
    EXPECT_INT(live_do(live, "POST", collection, text, NULL, NULL), 0, path);
}

/* Its bytes are other ones of the same length. */
static void overwrite(struct live *live, const char *path, const char *field, const char *key)
{
    _cleanup_value_ const struct value *object = NULL, *text = NULL, *changed = NULL;
    const char *keys[] = {field, key};
    _cleanup_free_ char *bytes = NULL;

    EXPECT_INT(live_do(live, "GET", path, NULL, &object, NULL), 0, path);
    bytes = str_new(value_string(value_path(object, field, key, NULL)));
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    bytes[strlen(bytes) / 2] = bytes[strlen(bytes) / 2] == 'A' ? 'B' : 'A';
    text = value_pack("s", bytes);
    changed = value_with_path(object, keys, 2, text);
    put_back(live, path, changed);
}

static bool damage(void *arg, const struct document_name *name, enum damage_part part,
                   enum damage_how how, char **ret)
{
    static const struct {
        const char *collection, *text, *field, *key;
    } parts[] = {
        [DAMAGE_HEAD] = {SERVED_MAPS, "", "data", "checksum"},
        [DAMAGE_OPEN] = {SERVED_MAPS, "-o1", "binaryData", "bytes"},
        [DAMAGE_SECRET] = {SERVED_SECRETS, "-s0", "data", "bytes"},
        [DAMAGE_ENTRIES] = {SERVED_SECRETS, "-j", "data", "entries"},
    };
    struct live *live = arg;
    char head[KUBE_DOCUMENT_NAME_SIZE];
    _cleanup_free_ char *object = NULL, *path = NULL;

    kube_document_name(name, head);
    object = part == DAMAGE_HEAD
                 ? str_new(head)
                 : served_find(live, parts[part].collection, head, parts[part].text);
    EXPECT(object, parts[part].text);
    path = str_printf("%s/%s", parts[part].collection, object);
    if (how == DAMAGE_MISSING)
        EXPECT_INT(live_do(live, "DELETE", path, NULL, NULL, NULL), 0, path);
    else
        overwrite(live, path, parts[part].field, parts[part].key);
    if (part != DAMAGE_HEAD || how == DAMAGE_CHANGED)
        *ret = str_printf("%s/%s", live->space, object);
    return true;
}

static void keeps_the_contract(struct served *scene)
{
    store_contract_check(&(struct store_fixture){&scene->live, served_attach, damage, NULL});
}

/* ---- What a head says, damaged ---- */

static void says_what_is_damaged(struct served *scene)
{
    static const struct {
        const char *note, *merge; /* into the head */
    } rows[] = {
        {"empty", "{\"data\":null,\"binaryData\":null}"},
        {"no open part", "{\"binaryData\":null}"},
        {"an empty one", "{\"binaryData\":{\"state\":\"\"}}"},
        {"another one", "{\"binaryData\":{\"state\":\"AAAA\"}}"},
        {"no checksum", "{\"data\":{\"checksum\":null}}"},
        {"it forgot the secret part",
         "{\"data\":{\"secretChecksum\":null,\"secretChunks\":null,\"secretTag\":null}}"},
        {"it forgot the entries", "{\"data\":{\"journal\":null}}"},
        {"no number of chunks", "{\"data\":{\"secretChunks\":\"-1\"}}"},
        {"no checksum of itself", "{\"data\":{\"headChecksum\":null}}"},
        {"a format to come", "{\"data\":{\"format\":\"3\"}}"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        _cleanup_free_ char *path = str_printf(SERVED_MAPS "/%s", scene->head);
        _cleanup_free_ char *expected = str_printf("%s/%s", scene->live.space, scene->head);

        EXPECT_INT(served_write(scene, 100, 100, (unsigned)i), 0, scene->error.message);
        EXPECT_INT(served_append(scene, "entry"), 0, scene->error.message);
        EXPECT_INT(served_read(scene), 0, rows[i].note);
        EXPECT_INT(live_do(&scene->live, "PATCH", path, rows[i].merge, NULL, NULL), 0, path);
        EXPECT_INT(served_read(scene), ERR_CORRUPT, rows[i].note);
        EXPECT_STR(scene->error.reason, DOCUMENT_CORRUPT, rows[i].note);
        EXPECT(strstr(scene->error.message, expected), scene->error.message);
        EXPECT_INT(served_append(scene, "entry"), ERR_CORRUPT, rows[i].note);
        EXPECT_INT(scene->store->ops->remove(scene->file, &plain, &scene->error), 0,
                   "what is damaged can be removed");
        EXPECT_INT(served_count(scene, SERVED_MAPS) + served_count(scene, SERVED_SECRETS), 0,
                   rows[i].note);
    }
}

/* A head that was copied is of the Spec that it was copied from: it is not taken for another's. */
static void a_copy_is_of_another_document(struct served *scene)
{
    static const char *const at[] = {"metadata", "name"};
    static const char *const version[] = {"metadata", "resourceVersion"};
    const struct document_name copy = {DOCUMENT_STATE, {"team", "copy"}, NULL};
    _cleanup_free_ char *path = str_printf(SERVED_MAPS "/%s", scene->head), *text = NULL;
    _cleanup_value_ const struct value *object = NULL, *bare = NULL, *named = NULL, *name = NULL;
    struct document document = DOCUMENT_INIT;
    struct store_file *file = NULL;
    char head[KUBE_DOCUMENT_NAME_SIZE];

    EXPECT_INT(served_write(scene, 10, 0, 1), 0, scene->error.message);
    EXPECT_INT(live_do(&scene->live, "GET", path, NULL, &object, NULL), 0, path);
    kube_document_name(&copy, head);
    name = value_pack("s", head);
    bare = value_without_path(object, version, 2);
    named = value_with_path(bare, at, 2, name);
    text = json_to_str(named);
    EXPECT_INT(live_do(&scene->live, "POST", SERVED_MAPS, text, NULL, NULL), 0, head);
    scene->store->ops->open(scene->store, &copy, STORE_READ, &plain, &file, NULL);
    EXPECT_INT(scene->store->ops->read(file, &plain, &document, &scene->error), ERR_CORRUPT, head);
    scene->store->ops->close(file);
    document_done(&document);
}

/* ---- Checksums of secrets ---- */

static const struct value *get(struct served *scene, const char *collection, const char *name)
{
    _cleanup_free_ char *path = str_printf("%s/%s", collection, name);
    const struct value *object = NULL;

    EXPECT_INT(live_do(&scene->live, "GET", path, NULL, &object, NULL), 0, path);
    return object;
}

/* The one secret chunk. */
static const struct value *get_chunk(struct served *scene, char **ret_name)
{
    *ret_name = served_find(&scene->live, SERVED_SECRETS, scene->head, "-s0");
    CU_ASSERT_PTR_NOT_NULL_FATAL(*ret_name);
    return get(scene, SERVED_SECRETS, *ret_name);
}

static void digest_of(const struct value *chunk, char ret[HASH_HEX_SIZE])
{
    size_t length = 0;
    const char *text = value_string_n(value_path(chunk, "data", "bytes", NULL), &length);
    _cleanup_buf_ struct buf bytes = BUF_INIT;

    EXPECT(text && base64_decode(&bytes, text, length), "bytes");
    hash_hex(bytes.data, bytes.length, ret);
}

/* All that may be seen without the right to read Secrets: the head, and a chunk's metadata. */
static void no_digest_tells_a_secret(struct served *scene)
{
    _cleanup_free_ char *first = NULL, *second = NULL;
    char **const names[] = {&first, &second};

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        _cleanup_value_ const struct value *chunk = NULL, *head = NULL;
        _cleanup_free_ char *seen = NULL, *told = NULL;
        char plain_digest[HASH_HEX_SIZE];

        EXPECT_INT(served_write(scene, 10, 0, 1), 0, scene->error.message);
        EXPECT_INT(served_write(scene, 10, 10, 2), 0, scene->error.message);
        chunk = get_chunk(scene, names[i]);
        head = get(scene, SERVED_MAPS, scene->head);
        digest_of(chunk, plain_digest);
        plain_digest[8] = '\0';
        seen = json_to_str(head);
        told = json_to_str(value_get(chunk, "metadata"));
        EXPECT(!strstr(seen, plain_digest), seen);
        EXPECT(!strstr(told, plain_digest), told);
        EXPECT(!strstr(seen, value_string(value_path(chunk, "data", "key", NULL))), "the key");
    }
    first[strlen(scene->head) + 8] = second[strlen(scene->head) + 8] = '\0';
    EXPECT(!str_equal(first, second), "the same secret, written twice");
}

/* Without its key a chunk cannot be told from a damaged one. */
static void a_chunk_that_lost_its_key_is_damaged(struct served *scene)
{
    static const char *const at_key[] = {"data", "key"};
    _cleanup_free_ char *name = NULL, *path = NULL;
    _cleanup_value_ const struct value *chunk = NULL, *keyless = NULL;

    EXPECT_INT(served_write(scene, 10, 10, 1), 0, scene->error.message);
    chunk = get_chunk(scene, &name);
    keyless = value_without_path(chunk, at_key, 2);
    path = str_printf(SERVED_SECRETS "/%s", name);
    put_back(&scene->live, path, keyless);
    EXPECT_INT(served_read(scene), ERR_CORRUPT, "no key");
    EXPECT(strstr(scene->error.message, "its key cannot be read"), scene->error.message);
}

/* ---- Removals that are killed ---- */

static int allow_some(void *arg, enum permit_use use, struct error *error)
{
    size_t *left = arg;

    (void)use;
    if (*left == 0)
        return err_set(error, ERR_FENCED, NULL, "killed");
    --*left;
    return 0;
}

static int note_name(void *arg, const struct document_name *name, struct error *error)
{
    const struct served *scene = *(struct served **)arg;

    (void)error;
    EXPECT(str_equal(name->spec.name, scene->name.spec.name), "the document");
    *(struct served **)arg = NULL;
    return 0;
}

static bool is_listed(struct served *scene)
{
    struct served *left = scene;

    EXPECT_INT(scene->store->ops->list(scene->store, DOCUMENT_STATE, &scene->name.spec, note_name,
                                       &left, &plain, &scene->error),
               0, scene->error.message);
    return !left;
}

static size_t count_objects(struct served *scene)
{
    return served_count(scene, SERVED_MAPS) + served_count(scene, SERVED_SECRETS);
}

/* Removes it with at most n changes; then the next process reads it, and removes the rest, if a
 * list names it. True: n changes were enough. */
static bool remove_with(struct served *scene, size_t n)
{
    const struct permit permit = {allow_some, &n};
    const struct store_call call = {.permit = &permit};
    int r = scene->store->ops->remove(scene->file, &call, &scene->error);
    bool is_enough = r == 0;

    EXPECT_INT(r, is_enough ? 0 : ERR_FENCED, scene->error.message);
    served_start_again(scene);
    r = served_read(scene);
    EXPECT(r == ERR_NOT_FOUND || (r == 0 && !is_enough), "removed, or as it was");
    EXPECT_INT(is_listed(scene), count_objects(scene) > 0, "what is left of it is found");
    EXPECT_INT(store_drop(scene->store, &scene->name, &plain, &scene->error), 0,
               scene->error.message);
    EXPECT_INT(count_objects(scene), 0, "nothing is left");
    served_start_again(scene);
    return is_enough;
}

static void a_removal_that_is_killed_is_repeated(struct served *scene)
{
    size_t n = 0;

    do {
        EXPECT_INT(served_write(scene, SERVED_LARGE, 10, 1), 0, scene->error.message);
        EXPECT_INT(served_append(scene, "entry"), 0, scene->error.message);
    } while (!remove_with(scene, n++));
    EXPECT(n > 6, "chunks, a segment, the head");
}

static void a_document_that_was_removed_in_part_can_be_written_again(struct served *scene)
{
    size_t n = 2; /* the call itself, and its first change */
    const struct permit permit = {allow_some, &n};
    const struct store_call call = {.permit = &permit};

    EXPECT_INT(served_write(scene, 10, 10, 1), 0, scene->error.message);
    EXPECT_INT(scene->store->ops->remove(scene->file, &call, &scene->error), ERR_FENCED, "");
    EXPECT_INT(served_append(scene, "entry"), ERR_NOT_FOUND, "there is no document");
    served_start_again(scene);
    EXPECT_INT(served_append(scene, "entry"), ERR_NOT_FOUND, "there is no document");
    EXPECT_INT(served_write(scene, 10, 10, 2), 0, scene->error.message);
    EXPECT_INT(served_read(scene), 0, scene->error.message);
    EXPECT_INT(served_count(scene, SERVED_SECRETS), 1, "the old chunk is gone");
}

/* ---- Writes that are killed ---- */

static void tidy(struct served *scene)
{
    EXPECT_INT(scene->store->ops->tidy(scene->store, &plain, &scene->error), 0,
               scene->error.message);
}

/* The mark and two chunks of a new document, and then the kill. */
static void kill_the_first_write(struct served *scene)
{
    size_t n = 4; /* the call itself, the mark, the open part's first chunk and its second */
    const struct permit permit = {allow_some, &n};
    const struct store_call call = {.permit = &permit};
    struct document document = DOCUMENT_INIT;

    served_fill(&document.open, SERVED_LARGE, 1);
    EXPECT_INT(scene->store->ops->write(scene->file, &call, &document, &scene->error), ERR_FENCED,
               scene->error.message);
    document_done(&document);
    EXPECT_INT(count_objects(scene), 3, "the mark, and two chunks");
    served_start_again(scene);
}

static void a_first_write_that_is_killed_is_found(struct served *scene)
{
    kill_the_first_write(scene);
    EXPECT_INT(served_read(scene), ERR_NOT_FOUND, "there is no document");
    EXPECT_INT(is_listed(scene), true, "what is left is found");
    EXPECT_INT(store_drop(scene->store, &scene->name, &plain, &scene->error), 0,
               scene->error.message);
    EXPECT_INT(count_objects(scene), 0, "removed");
}

/* As a write left them that went on while the document was removed. */
static void chunks_without_a_head_are_removed_when_they_are_old(struct served *scene)
{
    _cleanup_free_ char *head = str_printf(SERVED_MAPS "/%s", scene->head);

    kill_the_first_write(scene);
    EXPECT_INT(live_do(&scene->live, "DELETE", head, NULL, NULL, NULL), 0, head);
    served_start_again(scene);
    EXPECT_INT(is_listed(scene), false, "there is no document");
    tidy(scene);
    tidy(scene);
    EXPECT_INT(count_objects(scene), 2, "they may be of a write that is under way");
    ((struct documents *)scene->store)->orphan_age = 1;
    usleep(2000);
    tidy(scene);
    EXPECT_INT(count_objects(scene), 0, "removed");
}

static void what_belongs_to_a_document_is_kept(struct served *scene)
{
    size_t count;

    EXPECT_INT(served_write(scene, SERVED_LARGE, 10, 1), 0, scene->error.message);
    EXPECT_INT(served_append(scene, "entry"), 0, scene->error.message);
    count = count_objects(scene);
    ((struct documents *)scene->store)->orphan_age = 1;
    for (int i = 0; i < 3; i++) {
        tidy(scene);
        usleep(2000);
    }
    EXPECT_INT(count_objects(scene), count, "all of it");
    EXPECT_INT(served_read(scene), 0, scene->error.message);
}

/* ---- What it takes ---- */

static void costs_as_few_requests_as_can_be(struct served *scene)
{
    static const struct {
        const char *note;
        size_t open, secret; /* open 0: an entry is appended */
        unsigned seed, writes, reads;
    } rows[] = {
        {"the first, small", 10, 0, 1, 1, 0},
        {"small", 10, 0, 2, 1, 0},
        {"the first with chunks looks for leftovers", 10, 10, 3, 2, 2},
        {"another secret: made, named, the old one removed", 10, 10, 4, 3, 0},
        {"the same secret", 10, 10, 4, 1, 0},
        {"the secret goes", 10, 0, 5, 2, 0},
        {"small", 10, 0, 6, 1, 0},
        {"the first entry: the segment, the head", 0, 0, 0, 2, 0},
        {"another", 0, 0, 0, 1, 0},
        {"another", 0, 0, 0, 1, 0},
        {"folded: closed, swapped, removed", 10, 0, 7, 3, 0},
        {"small", 10, 0, 8, 1, 0},
    };

    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct kube_client_stats before, after;

        kube_client_stats(scene->live.harness.client, &before);
        EXPECT_INT(rows[i].open ? served_write(scene, rows[i].open, rows[i].secret, rows[i].seed)
                                : served_append(scene, "entry"),
                   0, rows[i].note);
        kube_client_stats(scene->live.harness.client, &after);
        EXPECT_INT(after.writes - before.writes, rows[i].writes, rows[i].note);
        EXPECT_INT(after.reads - before.reads, rows[i].reads, rows[i].note);
    }
}

ON_EACH_SERVER(keeps_the_contract)
ON_EACH_SERVER(says_what_is_damaged)
ON_EACH_SERVER(a_copy_is_of_another_document)
ON_EACH_SERVER(no_digest_tells_a_secret)
ON_EACH_SERVER(a_chunk_that_lost_its_key_is_damaged)
ON_EACH_SERVER(a_removal_that_is_killed_is_repeated)
ON_EACH_SERVER(a_document_that_was_removed_in_part_can_be_written_again)
ON_EACH_SERVER(a_first_write_that_is_killed_is_found)
ON_EACH_SERVER(chunks_without_a_head_are_removed_when_they_are_old)
ON_EACH_SERVER(what_belongs_to_a_document_is_kept)
ON_EACH_SERVER(costs_as_few_requests_as_can_be)

SUITE(kube_documents_in_memory, TEST(keeps_the_contract_in_memory),
      TEST(says_what_is_damaged_in_memory), TEST(a_copy_is_of_another_document_in_memory),
      TEST(no_digest_tells_a_secret_in_memory),
      TEST(a_chunk_that_lost_its_key_is_damaged_in_memory),
      TEST(a_removal_that_is_killed_is_repeated_in_memory),
      TEST(a_document_that_was_removed_in_part_can_be_written_again_in_memory),
      TEST(a_first_write_that_is_killed_is_found_in_memory),
      TEST(chunks_without_a_head_are_removed_when_they_are_old_in_memory),
      TEST(what_belongs_to_a_document_is_kept_in_memory),
      TEST(costs_as_few_requests_as_can_be_in_memory))

SUITE(live_documents, TEST(keeps_the_contract_live), TEST(says_what_is_damaged_live),
      TEST(a_copy_is_of_another_document_live), TEST(no_digest_tells_a_secret_live),
      TEST(a_chunk_that_lost_its_key_is_damaged_live),
      TEST(a_removal_that_is_killed_is_repeated_live),
      TEST(a_document_that_was_removed_in_part_can_be_written_again_live),
      TEST(a_first_write_that_is_killed_is_found_live),
      TEST(chunks_without_a_head_are_removed_when_they_are_old_live),
      TEST(what_belongs_to_a_document_is_kept_live), TEST(costs_as_few_requests_as_can_be_live))
