import Glibc
import StageKit

/// A connection that is being made.
protocol Approach: AnyObject {
  /// What poll(2) is to wait for.
  var interest: Interest { get }
  /// What to say where the time for it is over.
  var lateness: String { get }
  /// The connection; `nil`: it is not there yet.
  func connection(_ ready: Int16) throws(Outcome) -> Connection?
}

/// What poll(2) is to wait for, and until when.
struct Interest {
  /// -1: nothing but time.
  var descriptor: Int32
  var events: Int32
  /// When to look again, whatever is ready; `nil`: at the deadline.
  var until: Deadline?
}

/// To a Unix socket, through the host's process.
final class DoorApproach: Approach {
  private let door: Door
  private var number: UInt8?
  /// unix(7) offers no way to wait for room in the listener's queue.
  private var asksAgain: Deadline?
  private static let pause: Int64 = 20

  init(_ door: Door) throws(Outcome) {
    self.door = door
    number = try door.ask()
  }

  deinit {
    if let number { door.forget(number) }
  }

  var interest: Interest {
    if let asksAgain { return Interest(descriptor: -1, events: 0, until: asksAgain) }
    return Interest(descriptor: door.socket, events: POLLIN)
  }

  var lateness: String {
    asksAgain != nil ? "\(door.path) took no connection in time" : "connecting to \(door.path) took too long"
  }

  func connection(_ ready: Int16) throws(Outcome) -> Connection? {
    if let asksAgain {
      if !asksAgain.hasPassed { return nil }
      self.asksAgain = nil
      number = try door.ask()
    }
    guard let asked = number, let answer = try door.answer(to: asked) else { return nil }
    number = nil
    switch answer {
    case .connected(let connection): return connection
    case .failed(EAGAIN):
      asksAgain = Deadline(after: Self.pause)
      return nil
    case .failed(let error):
      throw .away("connecting to \(door.path): \(String(cString: strerror(error)))")
    }
  }
}

/// To the first of a host's addresses that takes it.
final class TCPApproach: Approach {
  private let addresses: TCPAddresses
  private var next = 0
  private var current: Connection?
  private var isConnected = false
  private var reason: String

  init(_ addresses: TCPAddresses) throws(Outcome) {
    self.addresses = addresses
    reason = "'\(addresses.name)' has no address"
    try tryNext()
  }

  var interest: Interest {
    // Where it is connected already, that is told at once.
    Interest(descriptor: current?.socket ?? -1, events: POLLOUT)
  }

  let lateness = "no connection in time"

  func connection(_ ready: Int16) throws(Outcome) -> Connection? {
    if !isConnected {
      if ready == 0 { return nil }
      let error = current?.openingError() ?? ENOTCONN
      if error == 0 { return current }
      reason = String(cString: strerror(error))
      try tryNext()
    }
    return isConnected ? current : nil
  }

  /// Begins with the next address; one after the other, as long as they fail at once.
  private func tryNext() throws(Outcome) {
    while next < addresses.count {
      let (connection, error) = addresses.begin(next)
      next += 1
      if let connection { return (current, isConnected) = (connection, error == 0) }
      reason = String(cString: strerror(error))
    }
    throw .away("connecting to \(addresses.name): \(reason)")
  }
}
