#include "runtimes/kubernetes/session/setup.h"

#include "runtimes/kubernetes/follow/follow.h"
#include "runtimes/kubernetes/session/following.h"
#include "runtimes/kubernetes/session/health_checks.h"
#include "runtimes/kubernetes/session/watches.h"

void kube_runtime_init(struct kube_runtime *runtime, const struct kube_runtime_config *config)
{
    *runtime = (struct kube_runtime){.config = *config, .watches = watches_new()};
    if (!config->effect_time)
        runtime->config.effect_time = EFFECT_TIME;
    runtime->checks = health_checks_new(&runtime->config);
    runtime->follows = follows_new(&(struct follows_config){
        .clock = config->clock, .keep = kube_keep_session, .release = kube_release_session});
    cluster_caches_init(&runtime->caches, config->clock);
    runtime->clusters = clusters_new(&config->foreign, config->clock);
    runtime->own = cluster_cache_get(&runtime->caches, &config->cluster);
}

void kube_runtime_done(struct kube_runtime *runtime)
{
    watches_free(runtime->watches);
    health_checks_free(runtime->checks);
    follows_free(runtime->follows);
    cluster_cache_unref(runtime->own);
    cluster_caches_done(&runtime->caches);
    clusters_free(runtime->clusters);
}
