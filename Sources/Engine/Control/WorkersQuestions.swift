import Scheduler

/// Clients that ask what the workers do. However many ask, and however often, the scheduler is asked ten times a second at most:
/// an answer is given again for as long.
struct WorkersQuestions {
  /// What is to be done with a question.
  enum Handling: Equatable {
    case answer(WorkersAtWork)
    /// The scheduler is to be asked.
    case ask
    /// It was asked already.
    case wait
    /// The client has not waited for the answer to its last.
    case refuse
  }

  /// Nanoseconds for which an answer holds.
  private static let validity: UInt64 = 100_000_000

  private var last: (workers: WorkersAtWork, at: UInt64)?
  private var waiting: Set<UInt64> = []
  /// The scheduler is about to answer.
  private var isAsked = false

  /// A client asks.
  ///
  /// - Parameter now: in nanoseconds of the monotonic clock.
  mutating func take(from ticket: UInt64, at now: UInt64) -> Handling {
    if let last, now < last.at + Self.validity { return .answer(last.workers) }
    if !waiting.insert(ticket).inserted { return .refuse }
    if isAsked { return .wait }
    isAsked = true
    return .ask
  }

  /// The scheduler has answered. Returns the clients that wait for that.
  mutating func answer(_ workers: WorkersAtWork, at now: UInt64) -> Set<UInt64> {
    (last, isAsked) = ((workers, now), false)
    defer { waiting.removeAll() }
    return waiting
  }

  /// A client is gone.
  mutating func forget(_ ticket: UInt64) { waiting.remove(ticket) }
}
