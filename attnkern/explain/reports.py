"""An explanation as people read it: Markdown fit for a bug report, of which terminal and HTML are renderings. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt

from attnkern.cases import case_named
from attnkern.explain.assemble import Cell
from attnkern.explain.explanation import Explanation, Side
from attnkern.explain.live import Pressure
from attnkern.explain.neighbours import Tried, in_both
from attnkern.explain.passes import Buffer

LINES = 8
TRIED_SHOWN = 12


def markdown(explanation: Explanation, kernel: Sequence[str], tried: Sequence[Tried] = ()) -> str:
    """`kernel`: the lines of the kernel's source file, which line numbers refer to."""
    before, after = explanation.before, explanation.after
    case = case_named(explanation.case)
    title = f"## Why {after.name} is not as {before.name} ({explanation.case}, {explanation.target})"
    shape = (
        f"Attention backward: batch {case.batch}, {case.heads} heads, sequence {case.seq_len}, head dimension"
        f" {case.head_dim}, {case.dtype}, tiles {case.block_m}×{case.block_n}, {case.num_warps} warps,"
        f" {case.num_stages} stage{'s' if case.num_stages != 1 else ''}."
    )
    parts = [title, shape, summary(explanation), figures(before, after)]
    parts += [*where(explanation), *whose(explanation), *shared(explanation, kernel), *registers(before, after, kernel)]
    if tried:
        parts += helping(explanation, tried)
    return "\n\n".join(parts) + "\n"


def summary(explanation: Explanation) -> str:
    before, after = explanation.before, explanation.after
    said = []
    for one in (before, after):
        if one.failure:
            said.append(f"{one.name} does not compile: {code(one.failure)}.")
        elif one.obstacle:
            said.append(f"{one.name} can't be launched on {explanation.gpu}: {one.obstacle}.")
    if explanation.stage:
        said.append(f"The two first differ in **{explanation.stage.upper()}**.")
    if explanation.pass_name:
        said.append(f"The first pass to make a lasting difference is **{explanation.pass_name}**.")
    if before.release != after.release:
        words = {
            "compiler": "the compiler's: its PTX is what makes the difference",
            "assembler": "the assembler's: ptxas makes something else of the same PTX",
            "both": "both the compiler's and the assembler's",
            "neither": "nobody's: no collapse, spills or shared memory came or went that matter",
        }
        said.append(f"The change is {words[explanation.verdict]} (**{explanation.verdict}**).")
    return " ".join(said) or "Nothing differs."


def figures(before: Side, after: Side) -> str:
    gpus = list(after.floors_ms or before.floors_ms)
    rows: list[tuple[str, Callable[[Side], object]]] = [
        ("ptxas", lambda s: s.ptxas),
        ("registers", lambda s: s.registers),
        ("stack, bytes a thread", lambda s: f"{s.stack_bytes:,}"),
        ("spills, static bytes", lambda s: f"{s.spill_bytes:,}"),
        ("shared memory, bytes", lambda s: f"{s.shared_bytes:,}"),
        ("stack traffic, bytes a thread and iteration", lambda s: f"{s.local_bytes_per_iteration:,}"),
        ("stack traffic, GB a launch", lambda s: f"{s.local_bytes_per_launch / 1e9:.1f}"),
        *((f"floor on {gpu}, ms (predicted)", lambda s, gpu=gpu: f"{s.floors_ms[gpu]:.1f}") for gpu in gpus),
    ]
    machines = sorted({*before.measured_ms, *after.measured_ms})
    lines = [f"| | {before.name} | {after.name} |", "|---|---:|---:|"]
    for name, value in rows:
        lines.append(f"| {name} | " + " | ".join("–" if s.failure else str(value(s)) for s in (before, after)) + " |")
    for machine in machines:
        cells = [f"{s.measured_ms[machine]:.3f}" if machine in s.measured_ms else "–" for s in (before, after)]
        lines.append(f"| measured on {machine}, ms | {cells[0]} | {cells[1]} |")
    return "\n".join(lines)


def where(explanation: Explanation) -> list[str]:
    parts = []
    if explanation.stages:
        parts.append("### Where they part")
        lines = []
        for stage in explanation.stages:
            if stage.same:
                lines.append(f"- {stage.stage.upper()}: the same")
                continue
            moved = ", ".join(f"`{c.operation}` {c.before} → {c.after}" for c in stage.operations)
            lines.append(
                f"- {stage.stage.upper()}: {moved or 'the same operations, in another order or on other types'}"
            )
        parts.append("\n".join(lines))
        first = next((one for one in explanation.stages if one.stage == explanation.stage), None)
        if first:
            parts.append(fenced(first.lines, "diff"))
    if explanation.passes:
        parts.append("By the compilers' own dump after each pass:")
        parts.append(
            "\n".join(
                f"- {one.feature}: {code(shortened(one.before))} after {one.before_pass} →"
                f" {code(shortened(one.after))} after {one.after_pass}"
                for one in explanation.passes
            )
        )
    return parts


def whose(explanation: Explanation) -> list[str]:
    if not explanation.matrix:
        return []
    ptxes = list(dict.fromkeys(one.ptx for one in explanation.matrix))
    # Assemblers of one version that make the same of everything share a column.
    columns: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for owner, version in dict.fromkeys((one.assembler, one.ptxas) for one in explanation.matrix):
        cells = tuple(cell_text(one.cell) for one in explanation.matrix if one.assembler == owner)
        columns.setdefault((version, cells), []).append(owner)
    heads = [f"ptxas {version} (of {', '.join(owners)})" for (version, _), owners in columns.items()]
    lines = ["| PTX of | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for place, ptx in enumerate(ptxes):
        lines.append(f"| {ptx} | " + " | ".join(cells[place] for _, cells in columns) + " |")
    return ["### Whose change", "\n".join(lines)]


def cell_text(cell: Cell) -> str:
    if cell.spill_bytes is None:
        return f"refused: {code(cell.refused)}"
    return f"{cell.registers} registers, {cell.spill_bytes:,} B spills"


def shared(explanation: Explanation, kernel: Sequence[str]) -> list[str]:
    before, after = explanation.before, explanation.after
    if not (explanation.extra_buffers() or after.obstacle) or not after.buffers:
        return []
    extra = explanation.extra_buffers()
    parts = ["### Shared memory"]
    if extra:
        parts.append(
            f"{after.name} asks for {after.shared_bytes - before.shared_bytes:,} bytes more than {before.name}. What"
            " has no like there:\n\n" + "\n".join(f"- {buffer_line(one, kernel)}" for one in extra)
        )
    parts.append(
        f"All of {after.name} ({after.shared_bytes:,} bytes; buffers at one place live at different times):\n\n"
        + "\n".join(f"- at {one.offset:,}: {buffer_line(one, kernel)}" for one in after.buffers)
    )
    return parts


def buffer_line(buffer: Buffer, kernel: Sequence[str]) -> str:
    return f"{buffer.bytes:,} bytes, {buffer.value}{at_line(buffer.line, kernel)}"


def registers(before: Side, after: Side, kernel: Sequence[str]) -> list[str]:
    parts = []
    for one in (before, after):
        for pressure, how in ((one.pressure, ""), (one.uncapped, " under a cap of 255 registers")):
            if pressure is not None:
                parts.append(pressure_text(f"{one.name}{how}", pressure, kernel))
    return ["### Where the registers go", *parts] if parts else []


def pressure_text(name: str, pressure: Pressure, kernel: Sequence[str]) -> str:
    where = f"{code(pressure.at)}{at_line(pressure.line, kernel)}"
    lines = [f"{name}: at most {pressure.worst} live registers, at {where}. Made on:"]
    lines += [f"- {held.registers}{at_line(held.line, kernel)}" for held in pressure.held[:5]]
    most = sorted(pressure.local_bytes.items(), key=lambda item: -item[1])[:4]
    if most:
        lines += ["", "Most stack traffic, bytes a thread and iteration:", ""]
        lines += [f"- {count:,}{at_line(line, kernel)}" for line, count in most]
    return "\n".join([lines[0], "", *lines[1:]])


def helping(explanation: Explanation, tried: Sequence[Tried]) -> list[str]:
    both = in_both(tried)
    good = [one for one in tried if one.helps]
    lines = [
        f"Compiled by Triton {explanation.after.release}: {len(good)} of {len(tried)} neither"
        f" collapse nor ask for more than {explanation.gpu} grants; in {len(both)} configurations both forms do so.",
        "",
        "| configuration | form | registers | spills B | shared B | floor ms (predicted) | known from |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for one in good[:TRIED_SHOWN]:
        lines.append(
            f"| {configuration(one.case)} | {one.formulation} | {one.registers} | {one.spill_bytes:,} |"
            f" {one.shared_bytes:,} | {one.floor_ms:.2f} | {known_from(one)} |"
        )
    if both:
        lines += ["", f"Both forms: {', '.join(configuration(case) for case in both[:6])}."]
    return ["### What would help", "\n".join(lines)]


def known_from(one: Tried) -> str:
    """ "compiled" alone, or the times measured where the suite has the configuration."""
    times = ", ".join(f"{ms:.3f} ms on {machine}" for machine, ms in one.measured_ms.items())
    return f"measured: {times}" if times else "compiled"


def configuration(name: str) -> str:
    case = case_named(name)
    plural = "s" if case.num_stages != 1 else ""
    cap = f", maxnreg={case.max_registers}" if case.max_registers else ""
    return f"{case.block_m}×{case.block_n}, {case.num_warps} warps, {case.num_stages} stage{plural}{cap} (`{name}`)"


def at_line(line: int | None, kernel: Sequence[str]) -> str:
    if not line or line > len(kernel):
        return " on an unknown line"
    return f" on line {line}, {code(kernel[line - 1].strip())}"


def code(text: str) -> str:
    """Text that Markdown shows as it is: a compiler's message may hold anything."""
    flat = " ".join(text.split()).replace("|", "¦")
    fence = "``" if "`" in flat else "`"
    return f"{fence} {flat} {fence}" if "`" in flat else f"`{flat or ' '}`"


def shortened(text: str, length: int = 150) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def fenced(lines: Sequence[str], language: str) -> str:
    return "\n".join([f"```{language}", *lines[:LINES], "```"])


def html(text: str) -> str:
    """The Markdown as HTML, raw HTML in it shown and not obeyed."""
    return str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
