"""What a provider warns of, and of what it makes: it is told once, with the change, and nothing fails for it."""

import time

import pytest

from kusion_e2e.broken import Whisperer, broken
from kusion_e2e.controller import Controller
from kusion_e2e.releases import plan_of
from kusion_e2e.terraform import flags, need_providers, spec_of

SECRET = "correct-horse-battery-staple"
OLD, MADE = "attributes.tags: is deprecated: use text", "attributes.text: was made late"


@pytest.fixture(scope="module", autouse=True)
def providers():
    need_providers("test")


@pytest.fixture(scope="module")
def controller(state_namespace):
    controller = Controller(state_namespace, flags=flags("kusion/broken", which=("test",)))
    yield controller.wait_leading()
    assert controller.stop() == 0


@pytest.fixture
def whisperer():
    made = Whisperer()
    made.tell("warned", ValidateResourceConfig="warn tags is deprecated: use text",
              ApplyResourceChange=f"warn text was made late|secret is {SECRET}")
    yield made
    made.close()


@pytest.fixture
def spec(controller, tenant):
    with spec_of(controller.cluster, tenant) as spec:
        yield spec


def test_warnings_are_told_once(spec, whisperer, controller):
    thing = broken(text="x", secret=SECRET)
    more = {"context": {"BROKEN": whisperer.address("warned")}, "interval": "1s"}

    spec.apply([thing], suspend=True, **more).wait("Unknown")
    assert plan_of(spec.cluster, spec.namespace, spec.name)[thing["id"]]["warnings"] == [OLD]

    ready = spec.apply([thing], **more).wait("True")
    assert ready["message"].endswith("1 created; 3 warnings"), ready
    result, = spec.releases()[-1]["status"]["results"]
    hidden = "attributes.secret: is (sensitive value)"
    assert (result["outcome"], result["warnings"]) == ("succeeded", [OLD, MADE, hidden])
    spec.wait_event("ProviderWarning", f"{thing['id']}: {OLD}; {thing['id']}: {MADE}", type="Warning")

    time.sleep(3)  # checks that find nothing
    assert sum(event["reason"] == "ProviderWarning" for event in spec.events()) == 1
    assert SECRET not in controller.log.read_text() + str(spec.events()) + str(spec.releases())
