/*
 * Which of two versions of objects is the older one. A resourceVersion is a decimal number, and
 * those of one kind grow with each write (kubernetes.io/docs/reference/using-api/api-concepts,
 * "Resource versions"; comparable since v1.35, and before that with etcd).
 */
#pragma once

/* <0: a is older. 0: they are the same, or one is NULL, or no number. */
int kube_compare_versions(const char *a, const char *b);
