/*
 * Signatures, by vectors that AWS publishes: the examples of S3's reference ("Authenticating
 * Requests: Using the Authorization Header") and the first of the suite of Signature Version 4.
 */
#include "engine/base/str.h"
#include "runtimes/io/sigv4.h"
#include "test/unit/suite.h"

#define EMPTY    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define S3_HOST  "examplebucket.s3.amazonaws.com"
#define S3_DATE  "20130524T000000Z"
#define S3_SCOPE "AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request"
#define PUT_HASH "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"

static const struct sigv4_key s3_key = {
    "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "us-east-1", "s3"};
static const struct sigv4_key suite_key = {
    "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1", "service"};

static const struct sigv4_header get_headers[] = {{"host", S3_HOST},
                                                  {"range", "bytes=0-9"},
                                                  {"x-amz-content-sha256", EMPTY},
                                                  {"x-amz-date", S3_DATE}};
static const struct sigv4_header put_headers[] = {{"date", "Fri, 24 May 2013 00:00:00 GMT"},
                                                  {"host", S3_HOST},
                                                  {"x-amz-content-sha256", PUT_HASH},
                                                  {"x-amz-date", S3_DATE},
                                                  {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
static const struct sigv4_header plain_headers[] = {
    {"host", S3_HOST}, {"x-amz-content-sha256", EMPTY}, {"x-amz-date", S3_DATE}};
static const struct sigv4_header suite_headers[] = {{"host", "example.amazonaws.com"},
                                                    {"x-amz-date", "20150830T123600Z"}};

static const struct {
    const char *note;
    struct sigv4_request request;
    const struct sigv4_key *key;
    const char *date, *signed_names, *signature;
} rows[] = {
    {"GET Object",
     {"GET", "/test.txt", "", get_headers, 4, EMPTY},
     &s3_key,
     S3_DATE,
     "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
    {"PUT Object",
     {"PUT", "/test%24file.text", "", put_headers, 5, PUT_HASH},
     &s3_key,
     S3_DATE,
     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
     "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
    {"GET Bucket Lifecycle",
     {"GET", "/", "lifecycle=", plain_headers, 3, EMPTY},
     &s3_key,
     S3_DATE,
     "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
    {"GET Bucket (List Objects)",
     {"GET", "/", "max-keys=2&prefix=J", plain_headers, 3, EMPTY},
     &s3_key,
     S3_DATE,
     "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
    {"get-vanilla",
     {"GET", "/", "", suite_headers, 2, EMPTY},
     &suite_key,
     "20150830T123600Z",
     "host;x-amz-date",
     "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"},
    {"post-vanilla",
     {"POST", "/", "", suite_headers, 2, EMPTY},
     &suite_key,
     "20150830T123600Z",
     "host;x-amz-date",
     "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"},
    {"get-vanilla-query-order-key-case",
     {"GET", "/", "Param1=value1&Param2=value2", suite_headers, 2, EMPTY},
     &suite_key,
     "20150830T123600Z",
     "host;x-amz-date",
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
};

static void signs_as_published(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        bool is_s3 = rows[i].key == &s3_key;
        _cleanup_free_ char *expected =
            str_printf("AWS4-HMAC-SHA256 Credential=%s, SignedHeaders=%s, Signature=%s",
                       is_s3 ? S3_SCOPE : "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request",
                       rows[i].signed_names, rows[i].signature);
        _cleanup_free_ char *actual =
            sigv4_authorization(&rows[i].request, rows[i].key, rows[i].date);

        EXPECT_STR(actual, expected, rows[i].note);
    }
}

static void writes_dates(void)
{
    char date[SIGV4_DATE_SIZE];

    sigv4_date(INT64_C(1369353600000), date);
    EXPECT_STR(date, S3_DATE, "the time of the examples");
}

SUITE(sigv4, TEST(signs_as_published), TEST(writes_dates))
