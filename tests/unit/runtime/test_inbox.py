"""The inbox keeps the order and wakes its one consumer."""

import anyio

from lastcall.runtime.inbox import Inbox


def test_items_come_out_in_the_order_in_which_they_were_put():
    async def main():
        inbox = Inbox()
        for n in range(3):
            inbox.put(n)
        return [await inbox.take() for _ in range(3)]

    assert anyio.run(main) == [0, 1, 2]


def test_a_waiting_consumer_is_woken_again_and_again():
    async def main():
        inbox, taken = Inbox(), []

        async def consume():
            while len(taken) < 3:
                taken.append(await inbox.take())

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(consume)
                for n in range(3):
                    await anyio.wait_all_tasks_blocked()
                    inbox.put(n)
        return taken

    assert anyio.run(main) == [0, 1, 2]


def test_a_cancelled_consumer_loses_nothing():
    async def main():
        inbox = Inbox()
        with anyio.move_on_after(0.01):
            await inbox.take()
        inbox.put("kept")
        return await inbox.take()

    assert anyio.run(main) == "kept"
