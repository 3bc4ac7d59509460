#include <stdlib.h>

#include "engine/base/mem.h"
#include "engine/store.h"
#include "test/unit/suite.h"

static void kinds_have_names_of_their_own(void)
{
    static const char *const names[DOCUMENT_KINDS] = {"state",    "outcome", "plan",
                                                      "approval", "spec",    "release"};

    for (size_t i = 0; i < DOCUMENT_KINDS; i++)
        EXPECT_STR(document_kind_name((enum document_kind)i), names[i], "as messages have it");
}

static void done_leaves_an_empty_document(void)
{
    struct document document = DOCUMENT_INIT;

    document_done(&document);
    buf_add_str(&document.open, "open");
    buf_add_str(&document.secret, "secret");
    document.entries = NEW_ARRAY(struct buf, 2);
    document.n_entries = 2;
    buf_init(&document.entries[0], 0);
    buf_init(&document.entries[1], 0);
    buf_add_str(&document.entries[1], "entry");
    document_done(&document);
    EXPECT_INT(document.open.length + document.secret.length + document.n_entries, 0, "nothing");
    EXPECT(!document.entries, "no entries");
    buf_add_str(&document.open, "again");
    EXPECT_STR(document.open.data, "again", "it can be used again");
    document_done(&document);
}

SUITE(document, TEST(kinds_have_names_of_their_own), TEST(done_leaves_an_empty_document))
