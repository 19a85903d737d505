"""The speed of an atlas: the slices around every turn of a session, compiled in threads, and plain for a part of them.

Each line has the digest of all figures, which both versions must agree on.
"""

from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from bench.select import bushy, chain, forest, star
from slicebase.graph.atlas import AnchorChoice, SessionAtlas, chosen_anchors, survey
from slicebase.graph.compact import compact
from slicebase.graph.policy import DEFAULT
from slicebase.graph.selection import kernel_named, with_kernel
from slicebase.workspace.processes import processors

TURNS = 100_000
SAMPLE = 1_000  # anchors of the comparison


def run() -> None:
    if kernel_named("auto") == "plain":
        print("atlas: skipped, the kernel is not compiled")
        return
    print(
        f"{'graph':>8} {'anchors':>8} {'selected':>9} {'seconds':>8} {'1,000: compiled ms':>19} {'plain ms':>9}  digest"
    )
    for name, made in (("chain", chain), ("forest", forest), ("bushy", bushy), ("star", star)):
        session = compact("s", *made(TURNS))
        threads = processors()
        with_kernel(session, "native")
        began = perf_counter()
        with ThreadPoolExecutor(threads) as pool:
            complete = SessionAtlas(
                session, survey(session, chosen_anchors(session, AnchorChoice()), DEFAULT, pool.map, threads)
            )
        digest, seconds = complete.digest, perf_counter() - began
        anchors = chosen_anchors(session, AnchorChoice())[:SAMPLE]
        times, digests = [], set()
        for kernel in (kernel_named("native"), kernel_named("plain")):
            with_kernel(session, kernel)
            began = perf_counter()
            found = survey(session, anchors, DEFAULT)
            times.append((perf_counter() - began) * 1000)
            digests.add(SessionAtlas(session, found).digest)
        assert len(digests) == 1, f"the versions differ on {name}"
        mean = sum(complete.survey.sizes) / len(session)
        print(f"{name:>8} {TURNS:>8,} {mean:>9.1f} {seconds:>8.1f} {times[0]:>19.1f} {times[1]:>9.1f}  {digest[7:23]}")


if __name__ == "__main__":
    run()
