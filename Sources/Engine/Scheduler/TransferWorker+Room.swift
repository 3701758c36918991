import CPlatform
import Glibc
import Pipeline
import Platform

// Room on the disk of the home, for what is to come of transfers.
extension TransferWorker {
  /// Why there is no room for a transfer beside what is to come of those under way; `nil`: there is, as far as sizes were told.
  func lackOfRoom(for flight: Flight) -> String? {
    var flights = underway
    flights[flight.serial] = flight
    return environment.downloads.lackOfRoom(
      for: flights.values.reduce(Int64(0)) { $0 + toCome(of: $1) }, leaving: definition.minFree)
  }

  /// Bytes, as far as they were told.
  private func toCome(of flight: Flight) -> Int64 {
    let all = flight.progress.total ?? flight.transfer?.link.size ?? 0
    return max(min(all, definition.maxSize) - flight.received, 0)
  }

  /// Parts of several links can fill a disk so that none of them has room for its end. The link with the least to come goes on, and
  /// others give up what they have, the smallest part first.
  ///
  /// Nothing is under way, and all transfers in hand wait in the queue. What gives way has left the queue, and its file is empty.
  ///
  /// - Returns: who has room now, and who gave way; `nil`: the parts of all others are too small for that.
  func makeRoom() -> (room: Flight, givingWay: [Flight])? {
    let priority = queue.map(\.lease.priority).max()
    let measured = queue.filter { $0.lease.priority == priority && toCome(of: $0) > 0 }
    guard let room = measured.min(by: { toCome(of: $0) < toCome(of: $1) }) else { return nil }
    var missing = toCome(of: room)
    var givingWay: [Flight] = []
    let parts = queue.filter { $0 !== room && $0.progress.bytes > 0 }
    for part in parts.sorted(by: { $0.progress.bytes < $1.progress.bytes }) {
      var facts = stat()
      guard fstat(part.content, &facts) == 0 else { continue }
      missing -= Int64(facts.st_blocks) * 512
      givingWay.append(part)
      if environment.downloads.lackOfRoom(for: missing, leaving: definition.minFree) == nil {
        for flight in givingWay {
          // A crash after this loses nothing but the part: the record of a file that is shorter does not count.
          ftruncate(flight.content, 0)
          _ = removeQueued(flight)
        }
        return (room, givingWay)
      }
    }
    return nil
  }
}
