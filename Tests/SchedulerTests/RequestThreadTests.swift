import Glibc
import Platform
import Synchronization
import Testing

@testable import Scheduler

/// A thread that answers requests, and rests in between.
struct RequestThreadTests {
  /// What the thread did, in order.
  private final class Story: Sendable {
    private let steps = Mutex<[String]>([])

    var all: [String] { steps.withLock { $0 } }

    func add(_ step: String) { steps.withLock { $0.append(step) } }
  }

  /// Until the first request is sent, what it rests on is another thread's: a connection to the ledger with its statements.
  @Test func itDoesNotRestBeforeTheFirstRequest() throws {
    let story = Story()
    let thread = try RequestThread<Int, Int>(
      rest: { isIdle in
        story.add(isIdle ? "idle" : "rest")
        return false
      },
      { request, reply in
        story.add("request \(request)")
        reply(request)
      })
    usleep(100_000)
    #expect(story.all == [])
    thread.send(1)
    while thread.replies().isEmpty { usleep(1000) }
    while story.all.count < 3 { usleep(1000) }
    #expect(story.all == ["request 1", "rest", "idle"])
    thread.stop()
  }
}
