"""Plots in a real browser: drawn, read by keyboard, in light and dark, without errors."""

import re
from pathlib import Path

import plotly
import pytest
from playwright.sync_api import expect

from acceptance.report import figures, plot_model, site, write
from acceptance.report.plot_model import Page
from tests.browser import DESK, PHONE, Watched, axe, browser, new_page, open_page, overflow
from tests.made import Case, Database
from tests.report_data import source, workspace
from tests.utils.report import plots

__all__ = ["browser"]

PAGE = "curves/plots.html"
MADE = (
    plots.curves(simulated=True), plots.bars(), plots.polar(), plots.cells(), plots.nights(),
    plots.nights("later", on_demand=True),
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a page with a plot of each form, as a report has it."""
    folder = tmp_path_factory.mktemp("site")
    context = {"text": "", "links": (), "failures": (), "sections": [("All", [p.id for p in MADE])]}
    made = Page(PAGE, "Plots", "curves.html.j2", "Curves", context, MADE)
    files = {PAGE: site.html(made)}
    for plot in MADE:
        files |= dict(figures.files(plot, PAGE))
    files[f"static/{site.LIBRARY}"] = site.library().decode()
    for path in site.STATIC.iterdir():
        files[f"static/{path.name}"] = path.read_text()
    for address, text in files.items():
        (folder / address).parent.mkdir(parents=True, exist_ok=True)
        (folder / address).write_text(text)
    (folder / "sessions").mkdir()
    (folder / "sessions/abc.html").write_text("<title>the session</title>")
    return folder


def test_the_script_that_draws_is_whole_and_compiled_while_it_is_loaded():
    package = Path(plotly.__file__).parent / "package_data"
    made, brought = site.library(), (package / site.LIBRARY).read_bytes().rstrip()
    assert made != brought
    assert made.replace(b"this, (() => {\n", b"this, () => {\n") == brought[:-1] + b");"


def shown(page, plot):
    """Bring a plot into view, and wait until it is drawn."""
    figure = page.locator(f"#{plot}")
    figure.scroll_into_view_if_needed()
    page.wait_for_selector(f'#{plot}[data-state="drawn"]')
    return figure


#: What a figure shows, as far as it can be seen: its picture, or what plotly.js drew.
SEEN_OF = """figure => [...figure.querySelectorAll(".plot-picture, .svg-container")]
    .filter(part => part.checkVisibility({visibilityProperty: true}))
    .map(part => part.classList.contains("plot-picture") ? "picture" : "drawn")"""
#: Notes in each frame what all figures show.
WATCH = f"const seenOf = {SEEN_OF};" + """
    window.seen = [];
    const look = () => {
        for (const figure of document.querySelectorAll("figure.plot")) {
            const now = figure.id + " " + seenOf(figure).join("+");
            if (!window.seen.includes(now)) window.seen.push(now);
        }
        requestAnimationFrame(look);
    };
    addEventListener("DOMContentLoaded", look);
"""  # fmt: skip


@pytest.fixture(scope="module")
def page(browser, folder):
    """Return the page of all plots, opened once: the library takes seconds to load."""
    page = new_page(browser, reduced_motion="reduce")
    page.watched = Watched(page)
    open_page(page, folder, PAGE)
    yield page
    wrong = list(page.watched.wrong)
    page.context.close()
    assert not wrong, "\n".join(wrong)


def test_each_plot_has_one_picture_at_any_time(browser, folder):
    own = new_page(browser, reduced_motion="reduce")
    own.add_init_script(WATCH)
    own.goto((folder / PAGE).as_uri())
    places = {plot.id: own.locator(f"#{plot.id} .plot-table").bounding_box() for plot in MADE}
    for plot in MADE:
        shown(own, plot.id)
        assert own.locator(f"#{plot.id} .plot-area svg.main-svg").count()
    curves = own.locator("#latency .plot-area .scatterlayer .trace")
    expect(curves).to_have_count(len(plots.curves().traces) + 2)
    own.evaluate("scrollTo(0, 0)")
    own.evaluate("() => new Promise(requestAnimationFrame)")
    seen = own.evaluate("seen")
    assert {*seen} == {f"{plot.id} {what}" for plot in MADE for what in ("picture", "drawn")}
    # Nothing moved when plotly.js drew over the pictures.
    assert places == {
        plot.id: own.locator(f"#{plot.id} .plot-table").bounding_box() for plot in MADE
    }
    own.context.close()


def test_a_picture_is_what_is_printed(page):
    shown(page, "latency")
    page.emulate_media(media="print")
    figure = page.locator("#latency").element_handle()
    assert figure.evaluate(SEEN_OF) == ["picture"]
    page.emulate_media(media="screen")
    assert figure.evaluate(SEEN_OF) == ["drawn"]


def test_the_keyboard_goes_over_all_numbers_and_says_them(page):
    figure = shown(page, "latency")
    area, said = figure.locator(".plot-area"), figure.locator(".plot-readout")
    area.focus()
    page.keyboard.press("ArrowRight")
    assert "inter-node (simulated), measured; Message size: 0 B; Latency: 1 us" in said.inner_text()
    page.keyboard.press("End")
    assert "Message size: 1 MiB" in said.inner_text()
    assert "session abc, not judged" in said.inner_text()
    expect(figure.locator(".hoverlayer .hovertext")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "no number" in said.inner_text()
    page.keyboard.press("ArrowDown")
    assert plots.HOSTILE[:30] in said.inner_text()
    page.keyboard.press("Escape")
    assert said.inner_text() == ""
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("sessions/abc.html"))
    page.go_back()


def test_the_keyboard_goes_over_a_matrix_and_a_circle(page):
    figure = shown(page, "pairs")
    figure.locator(".plot-area").focus()
    for key in ("Home", "ArrowDown", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    said = figure.locator(".plot-readout").inner_text()
    assert "to n2, from n3" in said
    assert "failed: no answer" in said
    figure = shown(page, "kiviat")
    figure.locator(".plot-area").focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
    assert "PTRANS" in figure.locator(".plot-readout").inner_text()


def test_the_legend_hides_and_shows(page):
    figure = shown(page, "npb")
    buttons = figure.locator(".plot-legend button")
    expect(buttons).to_have_count(2)
    buttons.nth(0).press("Enter")
    expect(buttons.nth(0)).to_have_attribute("aria-pressed", "false")
    expect(figure.locator(".barlayer .trace")).to_have_count(1)
    # What was chosen is printed.
    page.emulate_media(media="print")
    assert figure.element_handle().evaluate(SEEN_OF) == ["drawn"]
    page.emulate_media(media="screen")
    buttons.nth(0).press("Enter")
    expect(figure.locator(".barlayer .trace")).to_have_count(2)


def test_the_table_of_a_plot_on_demand_is_made_of_its_data(page):
    details = page.locator("#later details")
    details.locator("summary").click()
    details.locator("table").wait_for()
    expect(details.locator("tbody tr")).to_have_count(51)
    expect(details.locator("tbody td").first).to_have_text("0")
    assert details.locator("tbody td").nth(1).inner_text() == "2"


def test_hostile_text_is_text(page):
    figure = shown(page, "latency")
    assert page.title().startswith("Plots")
    assert page.locator("img").count() == 0
    assert plots.HOSTILE[:25] in figure.locator(".plot-legend").inner_text()


def test_theme_and_size_are_followed_and_all_can_be_read_in_both(page):
    for plot in MADE:
        shown(page, plot.id)
    assert axe(page) == []
    assert overflow(page) <= 0
    ground = "() => document.querySelector('#latency svg.main-svg').style.backgroundColor"
    light = page.evaluate(ground)
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => ({ground})() !== light", arg=light)
    page.wait_for_function(
        "() => document.querySelector('#latency svg.main-svg').clientWidth < 390"
    )
    assert axe(page) == []
    assert overflow(page) <= 0
    page.emulate_media(color_scheme="dark", media="print")
    page.wait_for_function(f"light => ({ground})() === light", arg=light)
    page.emulate_media(color_scheme="light", media="screen")


def test_data_that_cannot_be_read_is_told_in_place_of_the_plot(page, folder):
    data = folder / "data/curves/plots/latency.js"
    good = data.read_text()
    data.write_text("acceptancePlot(null);\n")
    page.reload()
    page.locator("#latency").scroll_into_view_if_needed()
    page.wait_for_selector('#latency[data-state="failed"]')
    assert "cannot be drawn" in page.locator("#latency .plot-area").inner_text()
    assert page.locator("#latency").element_handle().evaluate(SEEN_OF) == ["picture"]
    assert page.locator("#latency table").count() == 1
    data.write_text(good)


@pytest.mark.parametrize("width", [DESK, PHONE], ids=["desk", "phone"])
def test_without_scripts_summary_picture_and_table_are_there(browser, folder, width):
    bare = new_page(browser, java_script_enabled=False, viewport=width)
    bare.goto((folder / PAGE).as_uri())
    assert "Time of a message." in bare.locator("#latency").inner_text()
    assert bare.locator("#latency table tr").count() > 20
    for plot in MADE:
        picture = bare.locator(f"#{plot.id} svg.plot-picture")
        assert picture.is_visible()
        box, card = picture.bounding_box(), bare.locator(f"#{plot.id}").bounding_box()
        for text in picture.locator("text").all():
            if text.is_visible():
                of = text.bounding_box()
                assert card["x"] <= of["x"] <= of["x"] + of["width"] <= card["x"] + card["width"]
                assert box["y"] - 4 <= of["y"] <= box["y"] + box["height"]
    assert overflow(bare) <= 0
    said = bare.locator("#latency .plot-legend > span").all_inner_texts()
    assert said[0] == "inter-node (simulated)"
    assert len(said) == len(MADE[0].traces)
    bare.context.close()


def test_of_a_run_the_bandwidth_of_pingpong_is_found_with_its_numbers(browser, tmp_path):
    sizes = [2**power for power in range(23)]
    speeds = {size: round(2500 * size / (size + 8000), 2) for size in sizes}
    metrics = {f"latency_{size}": (1 + size / 2500, "us") for size in sizes}
    metrics |= {f"bandwidth_{size}": (speed, "MB/s") for size, speed in speeds.items()}
    pairs = {
        "latency_8": (1.1, "us"),
        "latency_max_8": (1.7, "us"),
        "bandwidth_4194304": (2400.0, "MB/s"),
        "bandwidth_min_4194304": (2100.0, "MB/s"),
    }
    keys = {"np": "2", "nodes": "2", "placement": "inter-node"}
    Database(workspace(tmp_path).results).add([
        Case(name="Pairs", benchmark="imb.pairs-between", suite="imb", metrics=pairs, keys=keys),
        Case(name="PingPong", benchmark="imb.PingPong", suite="imb", metrics=metrics, keys=keys),
    ])  # fmt: skip
    write(source(tmp_path, system="made"), tmp_path / "site")
    page = new_page(browser)
    page.watched = Watched(page)
    open_page(page, tmp_path / "site", "curves/made~compute.html")
    files = [link.get_attribute("href") for link in page.locator(".plot-files a").all()]
    assert len(files) == len({*files}) == 2 * page.locator("figure.plot").count()
    figure = shown(page, "bandwidth")
    expect(figure.locator(".ytitle")).to_have_text("Bandwidth (MB/s)")
    assert figure.locator(".scatterlayer .point").count() >= len(sizes)
    figure.locator("summary").click()
    body = figure.locator("tbody", has_text="PingPong")
    rows = [row.locator("td").all_inner_texts()[:2] for row in body.locator("tr:has(td)").all()]
    assert rows == [
        [plot_model.x_text(plots.MESSAGE, float(size)), plot_model.number_text(speed)]
        for size, speed in speeds.items()
    ]
    figure.locator(".plot-area").focus()
    page.keyboard.press("End")
    assert "4 MiB" in figure.locator(".plot-readout").inner_text()
    assert not page.watched.wrong
    page.context.close()


def colours(scheme):
    """Return the colours of traces and the ground of a theme, as `plot.css` states them."""
    text = (site.STATIC / "plot.css").read_text()
    blocks = text.split("prefers-color-scheme: dark")
    return dict(re.findall(r"--plot-([a-z0-9-]+): (#[0-9a-f]{6})", blocks[scheme == "dark"]))


def brightness(colour):
    """WCAG 2.1: the relative luminance of a colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out_from_their_ground(scheme):
    values = colours(scheme)
    ground = brightness(values.pop("ground"))
    del values["faint"]
    for name, colour in values.items():
        low, high = sorted((brightness(colour), ground))
        assert (high + 0.05) / (low + 0.05) >= (3 if name.startswith("colour") else 4.5), name


#: Machado et al. 2009, severity 1: how protans, deutans and tritans see linear RGB.
SEEN = {
    "protan": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deutan": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritan": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}


@pytest.mark.parametrize("seen", [*SEEN])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_differ_for_the_colour_blind(scheme, seen):
    values = [value for name, value in colours(scheme).items() if name.startswith("colour")]
    points = []
    for colour in values:
        linear = [(int(colour[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
        points.append(
            [max(0.0, sum(a * b for a, b in zip(row, linear, strict=True))) ** (1 / 2.2)
             for row in SEEN[seen]]
        )  # fmt: skip
    nearest = min(
        sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5
        for at, one in enumerate(points)
        for other in points[:at]
    )
    assert nearest > 0.2
