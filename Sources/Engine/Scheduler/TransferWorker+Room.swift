import CPlatform
import Glibc
import Pipeline
import Platform

// Room for transfers on the disk of the home.
extension TransferWorker {
  /// The reason why a transfer does not fit on the disk, beside the rest of the transfers under way; `nil`: it fits. A transfer of
  /// unknown length counts as 0.
  func lackOfRoom(for flight: Flight) -> String? {
    var flights = underway
    flights[flight.serial] = flight
    return environment.downloads.lackOfRoom(
      for: flights.values.reduce(Int64(0)) { $0 + toCome(of: $1) }, leaving: definition.minFree)
  }

  /// The bytes still to come; 0 where the length is unknown.
  private func toCome(of flight: Flight) -> Int64 {
    let all = flight.fetch.progress.total ?? flight.transfer?.link.size ?? 0
    return max(min(all, definition.maxSize) - flight.fetch.received, 0)
  }

  /// Makes room where the parts of several links fill the disk and no link fits. The link with the fewest bytes to come goes on.
  /// Other links give up their parts, the smallest part first.
  ///
  /// Call it while no transfer is under way and all transfers in hand wait in the queue.
  ///
  /// - Returns: the flight that fits now, and the flights that gave way, which have left the queue; `nil`: their parts are too small.
  func makeRoom() -> (room: Flight, givingWay: [Flight])? {
    let priority = queue.map(\.lease.priority).max()
    let measured = queue.filter { $0.lease.priority == priority && toCome(of: $0) > 0 }
    guard let room = measured.min(by: { toCome(of: $0) < toCome(of: $1) }) else { return nil }
    var missing = toCome(of: room)
    var givingWay: [Flight] = []
    let parts = queue.filter { $0 !== room && $0.fetch.progress.bytes > 0 }
    for part in parts.sorted(by: { $0.fetch.progress.bytes < $1.fetch.progress.bytes }) {
      var facts = stat()
      guard fstat(part.content, &facts) == 0 else { continue }
      missing -= Int64(facts.st_blocks) * 512
      givingWay.append(part)
      if environment.downloads.lackOfRoom(for: missing, leaving: definition.minFree) == nil {
        for flight in givingWay {
          // A crash after this loses only the part: a transfer with a file shorter than its record begins at 0.
          ftruncate(flight.content, 0)
          _ = removeQueued(flight)
        }
        return (room, givingWay)
      }
    }
    return nil
  }
}
