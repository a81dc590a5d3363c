"""One color for one role on every page of the book, and never color alone.

The role colors are safe for color-blind readers: those of Okabe and Ito, but for their yellow, which is too
pale for lines. They fill shapes and draw lines, and are the same on a light and on a dark page. The colors of
`THEMED` are for text and background: on a page of the book they become CSS variables and follow its theme;
elsewhere they are what is written here.
"""

QUERY = "#D55E00"
KEY = "#0072B2"
VALUE = "#009E73"
OUTPUT = "#CC79A7"
MASKED = "#8C8C8C"  # always hatched
ENCODER = "#5F7488"  # slate; a panel is filled with it at a low alpha
DECODER = "#8C6A53"  # brown: the hues are left to queries, keys, values and outputs
NEUTRAL = "#9AA0A8"  # a box that plays none of the roles
FIRST = "#7A68C4"  # two things compared that play no role: the first solid,
SECOND = "#A6761D"  # the second dashed or hatched

INK = "#1D2430"
LOOKS = ((FIRST, "-", "o"), (SECOND, "--", "s"), (INK, "-.", "^"), (NEUTRAL, ":", "D"))  # of four lines
PAPER = "#FEFEFE"  # one step off white, so that pure white stays white in the dark
MUTED = "#56606F"
QUERY_TEXT = "#A84800"
KEY_TEXT = "#005F99"
VALUE_TEXT = "#00704F"
OUTPUT_TEXT = "#9C3D74"

# Attention maps run from paper (0) to HEAT (1). In the dark, HEAT is bright; figures.css has those values.
HEAT = "#1F1147"
HEAT_INK_LOW = "#010101"  # numbers on light cells; the inks change places in the dark
HEAT_INK_HIGH = "#FDFDFD"
HEAT_SWITCH = 0.595  # above it the second ink; a contrast of 4.5 at every weight, in both themes

THEMED = {
    HEAT_INK_LOW: "--at-heat-ink-low",
    HEAT_INK_HIGH: "--at-heat-ink-high",
    INK: "--at-ink",
    PAPER: "--at-paper",
    MUTED: "--at-muted",
    QUERY_TEXT: "--at-query-text",
    KEY_TEXT: "--at-key-text",
    VALUE_TEXT: "--at-value-text",
    OUTPUT_TEXT: "--at-output-text",
}
