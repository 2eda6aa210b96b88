"""Words that do not say what a text is about: three circles, each around the one before.

STOP_WORDS   grammar: what a search leaves out of a question
ASIDES       what a description says beside its subject: "the latest", "everything about"
EVERYDAY     what every conversation with an agent says: nothing to know one by
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about above after again against all am an and any are as at be because been before being below
    between both but by can could d did do does doing don down during each else few for from further
    had has have having he her here hers him his how i if in into is it its just ll m may me might
    more most must my no nor not now of off on once only or other our ours out over own re s same
    shall she should so some such t than that the their theirs them then there these they this those
    through to too under until up ve very was we were what when where which while who whom why will
    with would you your yours
    """.split()  # noqa: SIM905 - a list of these would fill the page
)

ASIDES = STOP_WORDS | frozenset(
    ["also", "current", "currently", "everything", "latest", "please", "something", "thing", "things"]
)

EVERYDAY = ASIDES | frozenset(
    """
    able actually add added adding already always another anything ask back best better call case change
    changed changes check code commit context create different doesn done error even every file files
    find first fix following full get give given going good got great help implement inside instead isn
    issue keep kind know last let lets like line lines list little look looking looks make many maybe
    mean message move much name need needs never new next nothing okay old one onto open option output
    part plan problem project push put read really remove rename result right run running say see seems
    set show shows simple since sounds start still sure take tell test tests thanks think thinking
    thought thoughts three time tried try two update use used user using version want way well whether
    without won work working works write wrong yes yet
    """.split()  # noqa: SIM905
)
