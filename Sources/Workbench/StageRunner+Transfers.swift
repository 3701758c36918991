import Glibc
import Pipeline
import Platform
import Wire
import Workers

// Transfers, for the worker of a source: many are under way at once, and end in any order.
extension StageRunner {
  /// What a source's worker says next.
  enum SourceNews {
    case news(TransferNews)
    case result(WorkResult)
    case death(WorkerDeath)
  }

  /// How long a worker may leave what it is told unread, in milliseconds.
  private static let readingTimeout = 5000

  /// Hands over a transfer. The content goes to the descriptor.
  func give(_ transfer: TransferWork, descriptor: Int32) throws(WorkbenchError) {
    process?.resetFlood()
    try tell { $0.give(transfer, descriptor: descriptor) }
  }

  /// Tells what becomes of a transfer.
  func give(_ order: TransferOrder) throws(WorkbenchError) { try tell { $0.give(order) } }

  private func tell(_ say: (WorkerProcess) -> GiveResult) throws(WorkbenchError) {
    guard let process else { throw WorkbenchError(.system, "there is no worker") }
    for _ in 0..<Self.readingTimeout {
      switch say(process) {
      // If the worker is gone, `hear` notices.
      case .given, .gone: return
      case .full: usleep(1000)
      case .tooLong: throw WorkbenchError(.configuration, "a link and what belongs to it fit into no frame")
      case .failed(let error): throw WorkbenchError(.system, "\(error)", cause: error)
      }
    }
  }

  /// What the worker says next; `nil`: nothing for so many milliseconds.
  func hear(within milliseconds: Int64) throws(WorkbenchError) -> SourceNews? {
    guard let process else { throw WorkbenchError(.system, "there is no worker") }
    switch try next(of: process, within: milliseconds) {
    case nil: return nil
    case .message(.news(let news)): return .news(news)
    case .message(.result(let result)): return .result(result)
    case .message(.invalid(let text)): return .death(condemn(.invalidReply(text)))
    case .message: return .death(condemn(.invalidReply("an answer to no question")))
    case .death(let death):
      self.process = nil
      return .death(death)
    }
  }

  /// Kills the worker for this cause.
  func condemn(_ cause: WorkerDeath.Cause) -> WorkerDeath {
    guard let process else { return WorkerDeath(cause, lastWords: "") }
    self.process = nil
    return end(process, cause)
  }
}
