"""Ten thousand rows stay fluid."""

from __future__ import annotations

from journals import Writer

ROWS = 10_000


def gaps(page):
    """How long each of a hundred frames took while the page was scrolled by 80 pixels a frame (ms), sorted."""
    return page.evaluate("""async () => {
      const gaps = [];
      let last = performance.now();
      const top = (document.documentElement.scrollHeight - innerHeight - 8000) / 2;
      for (let n = 0; n < 100; n += 1) {
        scrollTo({ top: top + n * 80, behavior: "instant" });
        await new Promise((next) => requestAnimationFrame(next));
        gaps.push(performance.now() - last);
        last = performance.now();
      }
      return gaps.sort((a, b) => a - b);
    }""")


def test_a_session_of_ten_thousand_rows_is_shown_searched_and_scrolled_without_stalls(show, tab):
    w = Writer()
    turns = (w.tool("Read", {"file_path": f"src/file{n}.py"}, f"line {n}\n" * 10) for n in range(ROWS // 2))
    tab.add_init_script(
        "window.stalls = []; new PerformanceObserver((list) => { for (const one of list.getEntries()) window.stalls.push(one.duration); }).observe({ type: 'longtask', buffered: true });"
    )
    page = show(w.opened() + w.prompt("Long") + b"".join(turns) + w.accepted({"ticket": "INC-0001", "customers": 1}))
    assert page.locator("#status").inner_text() == "10,004 rows"
    slow = gaps(page)
    took = page.evaluate("""async () => {
      const field = document.getElementById("search");
      const began = performance.now();
      field.value = "file4321.py";
      field.dispatchEvent(new Event("input"));
      await new Promise((next) => requestAnimationFrame(next));
      return performance.now() - began;
    }""")
    assert page.locator("#status").inner_text() == "1 of 10,004 rows"
    assert took < 5_000
    page.get_by_label("Search this run").fill("")
    page.locator(".dot").click()
    assert page.evaluate("document.activeElement.closest('.entry').id") == "e10002"
    assert page.locator("#e10002").is_visible()
    stalls = max(page.evaluate("window.stalls"), default=0)
    short = Writer()
    page = show(
        short.opened() + short.prompt("Short") + b"".join(short.tool("Read", {"n": n}, "x") for n in range(100))
    )
    quick = gaps(page)
    assert slow[50] < 3 * quick[50] + 20, "frames of a long session take as long as those of a short one"
    assert slow[95] < 4 * quick[95] + 50
    assert stalls < 5_000
