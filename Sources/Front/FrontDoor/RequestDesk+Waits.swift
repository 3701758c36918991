import FrontWire
import LedgerPort
import Scheduler

// What requests wait for.
extension RequestDesk {
  /// A request, and the life of the process that it came from.
  struct Asked: Sendable {
    var request: FrontRequest
    var life: UInt64
    var serial: UInt64 { request.serial }
  }

  /// Its commands are on their way to the ledger.
  struct Waiting: Sendable {
    var asked: Asked
    /// The upload that the request keeps meanwhile; `nil`: none.
    var upload: String?
    var next: @Sendable ([CommandResult]) -> API.Answer
  }

  /// Its body is being stored.
  struct Storing: Sendable {
    var asked: Asked
    var upload: String
    var next: @Sendable (API, Stored) throws -> API.Answer
  }

  /// Its body is being stored, to be judged; or is judged.
  struct Checking: Sendable {
    var asked: Asked
    var asker: AccessToken
    /// `nil`: it is judged.
    var next: (@Sendable (Stored) throws -> Check)?
  }

  /// Its body is being read.
  struct Reading: Sendable {
    var asked: Asked
    /// Bytes that it may have.
    var limit: Int64
    var next: @Sendable (API, [UInt8]) throws -> API.Answer
  }
}
