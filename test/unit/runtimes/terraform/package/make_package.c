#include "test/unit/runtimes/terraform/package/make_package.h"

#include "test/unit/suite.h"

int make_package(struct cache *cache, size_t bytes, char ret_h1[PACKAGE_H1_SIZE],
                 struct package **ret, struct error *error)
{
    _cleanup_(staging_done) struct staging staging = STAGING_INIT;
    _cleanup_(package_writer_done) struct package_writer writer;
    char content[MAKE_PACKAGE_MOST] = "";

    CU_ASSERT_FATAL(cache_begin(cache, &staging, NULL) == 0);
    package_writer_init(&writer, staging.files, cache_room(cache));
    CU_ASSERT_FATAL(package_writer_begin(&writer, "program", true, NULL) == 0);
    CU_ASSERT_FATAL(package_writer_add(&writer, content, bytes, NULL) == 0);
    CU_ASSERT_FATAL(package_writer_end(&writer, NULL) == 0);
    package_writer_finish(&writer, ret_h1);
    return cache_keep(cache, &staging, NULL, &writer, ret_h1, ret, error);
}
