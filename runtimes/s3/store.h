/*
 * A store (engine/store.h) in a bucket of S3, or of a server that speaks its REST API: a chain
 * (runtimes/chain/store.h) of objects.
 *
 * s3://BUCKET[/PREFIX][?OPTION=VALUE&…], values percent-encoded:
 *
 *   region       us-east-1, if it is not given; it is a part of each signature
 *   endpoint     https://host[:port] of the server; without it AWS in that region
 *   style        virtual: https://BUCKET.host/KEY; path: https://host/BUCKET/KEY. Without it
 *                virtual for AWS, and path with an endpoint
 *   credentials  a folder with the files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, if there
 *                is one, AWS_SESSION_TOKEN: a mounted Secret. They are read for each request, so a
 *                rotation needs no restart. Without it: web identity. AWS_ROLE_ARN and
 *                AWS_WEB_IDENTITY_TOKEN_FILE of the environment are exchanged at STS, and again
 *                after 80 % of the time that the answer gives
 *   sts          https://host[:port] of STS; without it that of AWS in the region
 *   condition    what makes a PUT create and not replace: if-none-match (the default: AWS, MinIO,
 *                Ceph, versitygw), x-oss-forbid-overwrite (Alibaba OSS),
 *                x-goog-if-generation-match (Google)
 *   ca           a file of CAs in place of the system's
 *
 * Requests are signed with the time of this machine, or, once the server says that it is wrong,
 * with the server's. Requests: PUT, GET and DELETE of objects, and ListObjectsV2; the bucket is
 * never created. IAM: s3:PutObject, s3:GetObject, s3:DeleteObject on BUCKET/PREFIX/ *,
 * s3:ListBucket on BUCKET.
 *
 * Errors: those of objects.h. The codes that a server says are mapped in answer.c.
 */
#pragma once

#include "engine/store.h"

/* Sends nothing: what the server is like is found out before the first change
 * (chain_store_new()). ERR_INVALID InvalidFlag: the place is no such text; ERR_NOT_FOUND,
 * ERR_FORBIDDEN: the file of CAs cannot be read. */
int s3_store_open(const char *place, struct store **ret, struct error *error);
