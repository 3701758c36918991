import Foundation
import Testing

/// Each system call fails in turn: the first of its kind, the second, and so on, until a run ends without the
/// fault. Each call fails once, and permanently, with every error that it may return.
@Suite(.serialized)
struct FailingCallsTests {
  /// The first calls, and then ever fewer, and permanently with one error of each kind; `make soak` tries all.
  @Test(arguments: FailingCalls.kinds)
  func aCallThatFailsLosesNothing(kind: FailingCalls.Kind) throws {
    try FailingCalls(kind: kind).run(permanent: 1) { $0 * 8 }
  }
}

@Suite(.serialized, .enabled(if: Soak.isOn, Soak.skipped))
struct FailingCallsSoakTests {
  /// `SLUICE_SOAK_CALLS=write,fsync` selects these alone: all of them take an hour.
  private static let kinds = FailingCalls.kinds.filter { kind in
    guard let chosen = getenv("SLUICE_SOAK_CALLS") else { return true }
    return String(cString: chosen).split(separator: ",").contains(Substring(kind.call))
  }

  @Test(arguments: kinds)
  func eachCallThatFailsLosesNothing(kind: FailingCalls.Kind) throws {
    try FailingCalls(kind: kind).run { $0 + 1 }
  }
}

struct FailingCalls {
  /// A call, and the errors to return.
  struct Kind: CustomTestStringConvertible {
    var call: String
    var errors: [Int32]
    var isShortToo = false
    var testDescription: String { call }
  }

  static let kinds = [
    Kind(call: "write", errors: [ENOSPC, EIO, EINTR], isShortToo: true),
    Kind(call: "fdatasync", errors: [EIO, ENOSPC, EINTR]),
    Kind(call: "fsync", errors: [EIO, ENOSPC, EINTR]),
    Kind(call: "rename", errors: [ENOSPC, EIO]),
    Kind(call: "link", errors: [ENOSPC, EIO]),
    Kind(call: "open", errors: [EMFILE, EIO, EINTR, ENOSPC]),
    Kind(call: "mkdir", errors: [ENOSPC, EIO]),
    Kind(call: "ftruncate", errors: [ENOSPC, EIO, EINTR]),
    Kind(call: "unlink", errors: [EIO]),
    Kind(call: "sendmsg", errors: [ENOBUFS, EIO, EINTR]),
    Kind(call: "recvmsg", errors: [ENOMEM, EIO, EINTR]),
    Kind(call: "spawn", errors: [EMFILE, ENOMEM, EAGAIN]),
  ]

  let kind: Kind

  /// - Parameters:
  ///   - permanent: of how many errors each is permanent in its turn, too.
  ///   - next: the number of the call to fail after this one.
  func run(permanent: Int = .max, _ next: (Int) -> Int) throws {
    var tries = 0
    var wrong = 0
    for (index, error) in (kind.errors + (kind.isShortToo ? [0] : [])).enumerated() {
      // EINTR is never permanent: callers rightly repeat the call.
      for isForever in error == EINTR || index >= permanent ? [false] : [false, true] {
        var nth = 1
        while true {
          let fault = FaultLibrary.Fault(
            match: "* \(kind.call)", nth: nth, action: error == 0 ? .short : .fail, error: error,
            isForever: isForever)
          let ingest = try FaultedIngest()
          let outcome = try ingest.run(fault)
          if !ingest.faults.hasFired { break }
          tries += 1
          let story = "\(kind.call) #\(nth)\(isForever ? " and all after it" : ""): \(Self.name(error))"
          #expect([0, 1, 70, 75, 78].contains(outcome.status), "\(story): \(outcome.status): \(outcome.err)")
          if ![0, 1].contains(outcome.status) { #expect(!outcome.err.isEmpty, "\(story): it says why") }
          wrong += try ingest.finish(mayFail: isForever, story)
          nth = next(nth)
        }
      }
    }
    Soak.row("a call fails: \(kind.call)", tries: tries, failures: wrong)
  }

  private static func name(_ error: Int32) -> String {
    error == 0 ? "half of it" : String(cString: strerror(error))
  }
}
