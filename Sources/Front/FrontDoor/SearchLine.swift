import LedgerPort
import Platform
import Synchronization

/// Searches that wait for the one thread which looks for them: others are answered meanwhile, and no asker takes all places.
final class SearchLine: Sendable {
  typealias Search = (asker: ByteText, asked: RequestDesk.Asked, next: @Sendable (API) throws -> API.Answer)

  /// The limits of waiting searches: in all, and for one asker.
  private static let (most, mostOfOne) = (100, 4)

  private let waiting = Mailbox<Search>(capacity: most)
  private let askers = Mutex<[ByteText: Int]>([:])

  /// Takes a search in.
  ///
  /// - Returns: why not; `nil`: it will be answered.
  func offer(
    by asker: ByteText, _ asked: RequestDesk.Asked, _ next: @escaping @Sendable (API) throws -> API.Answer
  ) -> Problem? {
    let isOneTooMany = askers.withLock { askers in
      if askers[asker, default: 0] >= Self.mostOfOne { return true }
      askers[asker, default: 0] += 1
      return false
    }
    if isOneTooMany { return .manySearches }
    if waiting.offer((asker, asked, next)) { return nil }
    leave(asker)
    return .busySearching
  }

  /// Passes each to a body, until the line is closed.
  func run(_ body: (RequestDesk.Asked, @escaping @Sendable (API) throws -> API.Answer) -> Void) {
    while case let all = waiting.receive(), !all.isEmpty {
      for search in all {
        body(search.asked, search.next)
        leave(search.asker)
      }
    }
  }

  func close() { waiting.close() }

  private func leave(_ asker: ByteText) {
    askers.withLock { askers in
      let left = askers[asker, default: 1] - 1
      askers[asker] = left > 0 ? left : nil
    }
  }
}
