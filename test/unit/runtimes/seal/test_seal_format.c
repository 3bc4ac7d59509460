/* The bytes of sealed parts: against others' (vectors.py), and damaged in every way. */
#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "runtimes/seal/format.h"
#include "test/unit/suite.h"

/* ---- As others make them ---- */

static const struct row {
    const char *note;
    enum document_kind kind;
    const char *item;
    int part;
    uint64_t number;
    const char *block, *random, *open_hash;
    int open_is_sealed;
    const char *content, *carried[3];
    size_t n_carried;
    const char *sealed;
} rows[] = {
#include "test/unit/runtimes/seal/vectors.inc"
};

static void add_hex(struct buf *to, const char *hex)
{
    for (; hex && *hex; hex += 2) {
        const char pair[] = {hex[0], hex[1], '\0'};

        buf_add_char(to, (char)strtoul(pair, NULL, 16));
    }
}

static void fill(unsigned char *to, unsigned from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)(from + i);
}

static struct document_name name_of(const struct row *row)
{
    return (struct document_name){row->kind, {"team", "web"}, row->item};
}

static void check_written(const struct row *row, const struct buf *sealed,
                          const unsigned char *seed)
{
    const struct document_name name = name_of(row);
    const struct seal_place place = {&name, (enum seal_part)row->part, row->number};
    _cleanup_buf_ struct buf block = BUF_INIT, random = BUF_INIT, hash = BUF_INIT, ours = BUF_INIT;
    struct buf carried[3] = {BUF_INIT, BUF_INIT, BUF_INIT};
    unsigned char write[SEAL_WRITE_SIZE];

    fill(write, 100, sizeof(write));
    add_hex(&block, row->block);
    add_hex(&random, row->random);
    add_hex(&hash, row->open_hash);
    for (size_t i = 0; i < row->n_carried; i++)
        buf_add_str(&carried[i], row->carried[i]);
    seal_format_write(&ours, seed, &block, &place,
                      &(struct seal_content){.random = (unsigned char *)random.data,
                                             .write = write,
                                             .open_is_sealed = row->open_is_sealed,
                                             .open_hash = (unsigned char *)hash.data,
                                             .carried = carried,
                                             .n_carried = row->n_carried,
                                             .bytes = row->content,
                                             .length = strlen(row->content)});
    EXPECT(ours.length == sealed->length && memcmp(ours.data, sealed->data, ours.length) == 0,
           row->note);
    for (size_t i = 0; i < row->n_carried; i++)
        buf_done(&carried[i]);
}

/* The content if it opens; NULL. */
static char *opened(const struct row *row, const struct buf *sealed, const unsigned char *seed,
                    const struct seal_place *place)
{
    _cleanup_buf_ struct buf content = BUF_INIT;
    struct buf *carried;
    struct seal_view view;
    bool is_right;

    if (seal_format_view(sealed, place->part, &view, NULL) < 0)
        return NULL;
    carried = NEW_ARRAY(struct buf, view.n_carried);
    for (size_t i = 0; i < view.n_carried; i++)
        buf_init(&carried[i], 0);
    is_right = seal_format_open(&view, seed, place, &content, carried);
    if (is_right)
        EXPECT_INT((long long)view.n_carried, (long long)row->n_carried, row->note);
    for (size_t i = 0; i < view.n_carried; i++) {
        if (is_right)
            EXPECT_STR(carried[i].data, row->carried[i], row->note);
        EXPECT(is_right || carried[i].length == 0, row->note);
        buf_done(&carried[i]);
    }
    free(carried);
    EXPECT(is_right || content.length == 0, row->note);
    return is_right ? buf_take(&content) : NULL;
}

static void parts_are_as_others_make_them(void)
{
    unsigned char seed[SEAL_SEED_SIZE];

    fill(seed, 7, sizeof(seed));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct document_name name = name_of(&rows[i]);
        const struct seal_place place = {&name, (enum seal_part)rows[i].part, rows[i].number};
        _cleanup_buf_ struct buf sealed = BUF_INIT;
        _cleanup_free_ char *content = NULL;

        add_hex(&sealed, rows[i].sealed);
        check_written(&rows[i], &sealed, seed);
        content = opened(&rows[i], &sealed, seed, &place);
        EXPECT_STR(content, rows[i].content, rows[i].note);
    }
}

/* ---- Elsewhere ---- */

static void no_part_opens_in_another_place(void)
{
    static const struct document_name others[] = {
        {DOCUMENT_OUTCOME, {"team", "web"}, NULL}, {DOCUMENT_STATE, {"team2", "web"}, NULL},
        {DOCUMENT_STATE, {"team", "we"}, NULL},    {DOCUMENT_STATE, {"tea", "mweb"}, NULL},
        {DOCUMENT_STATE, {"team", "web"}, ""},     {DOCUMENT_STATE, {"team", "web"}, "x"},
    };
    const struct document_name name = name_of(&rows[2]);
    _cleanup_buf_ struct buf sealed = BUF_INIT;
    unsigned char seed[SEAL_SEED_SIZE], other_seed[SEAL_SEED_SIZE];

    fill(seed, 7, sizeof(seed));
    fill(other_seed, 8, sizeof(other_seed));
    add_hex(&sealed, rows[2].sealed);
    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        const struct seal_place place = {&others[i], SEAL_ENTRY, 0};

        EXPECT(!opened(&rows[2], &sealed, seed, &place), "another document");
    }
    EXPECT(!opened(&rows[2], &sealed, seed, &(struct seal_place){&name, SEAL_ENTRY, 1}), "number");
    EXPECT(!opened(&rows[2], &sealed, seed, &(struct seal_place){&name, SEAL_OPEN_PART, 0}),
           "part");
    EXPECT(!opened(&rows[2], &sealed, other_seed, &(struct seal_place){&name, SEAL_ENTRY, 0}),
           "seed");
}

/* ---- Damage ---- */

static void each_flipped_bit_is_found(void)
{
    unsigned char seed[SEAL_SEED_SIZE];

    fill(seed, 7, sizeof(seed));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct document_name name = name_of(&rows[i]);
        const struct seal_place place = {&name, (enum seal_part)rows[i].part, rows[i].number};
        _cleanup_buf_ struct buf sealed = BUF_INIT;

        add_hex(&sealed, rows[i].sealed);
        for (size_t bit = 0; bit < 8 * sealed.length; bit++) {
            _cleanup_free_ char *content = NULL;

            sealed.data[bit / 8] ^= (char)(1 << bit % 8);
            content = opened(&rows[i], &sealed, seed, &place);
            EXPECT(!content, rows[i].note);
            EXPECT(seal_format_has_mark(&sealed), "it is known as a sealed part");
            sealed.data[bit / 8] ^= (char)(1 << bit % 8);
        }
    }
}

static void each_cut_is_found(void)
{
    unsigned char seed[SEAL_SEED_SIZE];

    fill(seed, 7, sizeof(seed));
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        const struct document_name name = name_of(&rows[i]);
        const struct seal_place place = {&name, (enum seal_part)rows[i].part, rows[i].number};
        _cleanup_buf_ struct buf sealed = BUF_INIT;

        add_hex(&sealed, rows[i].sealed);
        for (size_t length = 0; length < sealed.length; length++) {
            _cleanup_buf_ struct buf first = BUF_INIT, last = BUF_INIT, hole = BUF_INIT;

            buf_add(&first, sealed.data, length);
            buf_add(&last, sealed.data + sealed.length - length, length);
            buf_add(&hole, sealed.data, length);
            buf_add(&hole, sealed.data + length + 1, sealed.length - length - 1);
            EXPECT(!opened(&rows[i], &first, seed, &place), "its end is cut");
            EXPECT(!opened(&rows[i], &last, seed, &place), "its begin is cut");
            EXPECT(!opened(&rows[i], &hole, seed, &place), "a byte is missing");
        }
    }
}

static void a_later_version_is_told(void)
{
    _cleanup_buf_ struct buf sealed = BUF_INIT;
    struct error error = {0};
    struct seal_view view;

    add_hex(&sealed, rows[0].sealed);
    sealed.data[7] = 2;
    EXPECT_INT(seal_format_view(&sealed, SEAL_OPEN_PART, &view, &error), ERR_UNSUPPORTED, "later");
    EXPECT(strstr(error.message, "a later version of the operator"), error.message);
    sealed.data[7] = 0;
    EXPECT_INT(seal_format_view(&sealed, SEAL_OPEN_PART, &view, &error), ERR_CORRUPT, "none");
}

SUITE(seal_format, TEST(parts_are_as_others_make_them), TEST(no_part_opens_in_another_place),
      TEST(each_flipped_bit_is_found), TEST(each_cut_is_found), TEST(a_later_version_is_told))
