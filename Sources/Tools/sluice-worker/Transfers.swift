import CStage
import CWorker
import Glibc
import Wire

/// The transfers of a source's worker: takes what the coordinator says, turns the source's crank, and tells what has ended.
struct Transfers {
  private struct Underway {
    let call: Call
    /// The source's structure points into it.
    let input: TransferInput
  }

  private let source: OpenStage
  private let socket: ControlSocket
  private let status: UnsafeMutablePointer<sluice_status>
  private let tracer: Tracer?
  private var underway: [UInt64: Underway] = [:]
  private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Frame.limit, alignment: 8)

  /// Milliseconds of one turn, at most.
  private static let turn: Int64 = 1000

  init(
    _ source: OpenStage, _ socket: ControlSocket, _ status: UnsafeMutablePointer<sluice_status>,
    _ tracer: Tracer?
  ) {
    self.source = source
    self.socket = socket
    self.status = status
    self.tracer = tracer
  }

  /// Takes all that the coordinator has said, then works on the transfers for a while.
  mutating func step() {
    while let message = socket.receive(waiting: underway.isEmpty, into: room) {
      do throws(FrameError) {
        var reader = FrameReader(UnsafeRawBufferPointer(message.bytes))
        switch try reader.kind() {
        case .transfer:
          guard let descriptor = message.descriptors.first else {
            throw FrameError("a transfer without a file")
          }
          start(try TransferInput(reader, in: message.bytes, descriptor: descriptor))
        case .order:
          obey(try TransferOrder(&reader))
          message.bytes.deallocate()
        default: throw FrameError("neither a transfer nor an order")
        }
      } catch {
        // The coordinator is the one that is trusted: a frame it did not mean ends the worker, and it will say so.
        exit(70)
      }
    }
    // No single transfer answers for what happens now.
    sluice_status_begin(status, 0, 0)
    source.raw.pointee.turn(source.instance, socket.descriptor, Self.turn)
    tellEnded()
  }

  private mutating func start(_ input: TransferInput) {
    let (serial, socket) = (input.serial, socket)
    let call = Call(stage: source, transfer: serial, tracer: tracer) { kind in
      socket.send(TransferNews(serial: serial, kind).frame)
    }
    underway[serial] = Underway(call: call, input: input)
    sluice_status_begin(status, serial, 0)
    source.raw.pointee.start(source.instance, input.transfer, call.handle)
    call.trace("start", "")
    tellEnded()
  }

  /// An order may cross the end of its transfer.
  private mutating func obey(_ order: TransferOrder) {
    guard let call = underway[order.serial]?.call else { return }
    sluice_status_begin(status, order.serial, 0)
    switch order.kind {
    case .hold: source.raw.pointee.hold(source.instance, call.handle, 1)
    case .goOn: source.raw.pointee.hold(source.instance, call.handle, 0)
    case .stop: source.raw.pointee.stop(source.instance, call.handle)
    }
    call.trace("\(order.kind)", "")
    tellEnded()
  }

  private mutating func tellEnded() {
    for (serial, call) in underway.mapValues(\.call) {
      guard let verdict = call.settled else { continue }
      call.record(stage: 0, verdict, microseconds: 0)
      // With its file, which the coordinator wants to be the only one to have.
      underway[serial] = nil
      socket.send(call.result.frame)
    }
  }
}
