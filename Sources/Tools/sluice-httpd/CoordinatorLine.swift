import CPlatform
import FrontWire
import Glibc
import HTTPServer
import Platform
import Wire

/// The line to the coordinator. What does not go at once waits, so that the loop never does.
final class CoordinatorLine {
  private let loop: EventLoop
  private var watch: EventLoop.Watch?
  private var waiting: [[UInt8]] = []
  private var first = 0
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 16)
  /// Called once all that waited has gone.
  var onRoom: (() -> Void)?

  /// So many frames may wait before new requests are turned away.
  private static let crowd = 1000

  init(_ loop: EventLoop) { self.loop = loop }

  deinit { room.deallocate() }

  /// Whether the coordinator is far behind.
  var isCrowded: Bool { waiting.count - first >= Self.crowd }

  /// Whether all that was said has gone.
  var isClear: Bool { first == waiting.count }

  /// The first frame, with the sockets that come along. Waits for it.
  func receiveSetup() throws -> (FrontSetup, [SharedDescriptor]) {
    guard let (frame, descriptors) = try receive(waiting: true), case .serve(let setup) = try ToFront(frame)
    else {
      throw FrameError("the first frame does not say what to serve")
    }
    return (setup, descriptors)
  }

  /// The same, of the process that answers clients of ClamAV's daemon.
  func receiveDoorSetup() throws -> (DoorSetup, [SharedDescriptor]) {
    guard let (frame, descriptors) = try receive(waiting: true), case .doors(let setup) = try ToDoor(frame)
    else {
      throw FrameError("the first frame does not say what the doors are")
    }
    return (setup, descriptors)
  }

  /// Calls a body for each frame from now on, with the descriptor that came along.
  func listen(_ body: @escaping (UnsafeRawBufferPointer, SharedDescriptor?) throws -> Void) throws {
    watch = try loop.watch(SLUICE_FD_CONTROL, EventLoop.Interest(reads: true)) { [unowned self] readiness in
      if readiness.writable { flush() }
      guard readiness.readable || readiness.isOver else { return }
      // Connections have their turn, too.
      for _ in 0..<64 {
        do {
          guard let (frame, descriptors) = try receive(waiting: false) else { return }
          try body(frame, descriptors.first)
        } catch {
          exit(1)
        }
      }
    }
  }

  func send(_ message: FromFront) { send(message.frame) }

  func send(_ frame: [UInt8]) {
    if isClear, sluice_send(SLUICE_FD_CONTROL, frame, frame.count, nil, 0, 1) >= 0 { return }
    waiting.append(frame)
    listenForRoom(true)
  }

  private func flush() {
    while first < waiting.count {
      let frame = waiting[first]
      if sluice_send(SLUICE_FD_CONTROL, frame, frame.count, nil, 0, 1) < 0 {
        // The coordinator is gone, or has no room yet.
        if errno == EPIPE || errno == ECONNRESET { exit(0) }
        return
      }
      first += 1
    }
    (waiting, first) = ([], 0)
    listenForRoom(false)
    onRoom?()
  }

  private func listenForRoom(_ isWaiting: Bool) {
    if let watch { loop.change(watch, EventLoop.Interest(reads: true, writes: isWaiting)) }
  }

  /// - Returns: `nil`: none waits. Ends the process where the coordinator is gone.
  private func receive(waiting: Bool) throws(FrameError) -> (UnsafeRawBufferPointer, [SharedDescriptor])? {
    var numbers: (Int32, Int32, Int32, Int32) = (-1, -1, -1, -1)
    var count: Int32 = 4
    let length = withUnsafeMutableBytes(of: &numbers) {
      sluice_receive(
        SLUICE_FD_CONTROL, room.baseAddress, room.count,
        $0.baseAddress?.assumingMemoryBound(to: Int32.self), &count, waiting ? 0 : 1)
    }
    if length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) { return nil }
    if length <= 0 { exit(0) }
    let descriptors = [numbers.0, numbers.1, numbers.2, numbers.3].prefix(Int(count)).map {
      SharedDescriptor(Descriptor(owning: $0))
    }
    return (UnsafeRawBufferPointer(rebasing: room[..<length]), descriptors)
  }
}
