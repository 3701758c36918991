import Glibc
import Platform
import Synchronization
import Testing

/// Counts the progress of another thread.
private final class Progress: Sendable {
  let count = Atomic(0)
}

struct MailboxTests {
  private static func wait(for condition: () -> Bool) {
    for _ in 0..<5000 {
      if condition() { return }
      usleep(1000)
    }
  }

  @Test func whatIsSentIsReceivedInOrder() throws {
    let mailbox = Mailbox<Int>(capacity: 7)
    let sender = try Platform.Thread {
      for number in 0..<20_000 { mailbox.send(number) }
      mailbox.close()
    }
    var received: [Int] = []
    while true {
      let some = mailbox.receive()
      if some.isEmpty { break }
      #expect(some.count <= 7)
      received += some
    }
    sender.join()
    #expect(received == Array(0..<20_000))
  }

  @Test func senderAfterSenderLosesNothing() throws {
    let mailbox = Mailbox<Int>(capacity: 3)
    let senders = try (0..<4).map { sender in
      try Platform.Thread { for number in 0..<2000 { mailbox.send(sender * 2000 + number) } }
    }
    var received: Set<Int> = []
    while received.count < 8000 { received.formUnion(mailbox.receive()) }
    for sender in senders { sender.join() }
    #expect(received.count == 8000 && mailbox.poll().isEmpty)
  }

  @Test func aSenderWaitsWhileItIsFull() throws {
    let mailbox = Mailbox<Int>(capacity: 3)
    let progress = Progress()
    let sender = try Platform.Thread {
      for number in 0..<5 {
        mailbox.send(number)
        progress.count.add(1, ordering: .sequentiallyConsistent)
      }
    }
    Self.wait { progress.count.load(ordering: .sequentiallyConsistent) == 3 }
    usleep(20_000)
    #expect(progress.count.load(ordering: .sequentiallyConsistent) == 3)
    #expect(mailbox.poll() == [0, 1, 2])
    sender.join()
    #expect(mailbox.poll() == [3, 4])
  }

  @Test func closingWakesASenderThatWaits() throws {
    let mailbox = Mailbox<Int>(capacity: 1)
    #expect(mailbox.send(1))
    let progress = Progress()
    let sender = try Platform.Thread {
      if !mailbox.send(2) { progress.count.add(1, ordering: .sequentiallyConsistent) }
    }
    usleep(5000)
    mailbox.close()
    sender.join()
    #expect(progress.count.load(ordering: .sequentiallyConsistent) == 1, "it was told that nothing was sent")
    #expect(mailbox.receive() == [1])
  }

  @Test func closingWakesAReceiverThatWaits() throws {
    let mailbox = Mailbox<Int>(capacity: 1)
    let progress = Progress()
    let receiver = try Platform.Thread {
      if mailbox.receive().isEmpty { progress.count.add(1, ordering: .sequentiallyConsistent) }
    }
    usleep(5000)
    mailbox.close()
    receiver.join()
    #expect(progress.count.load(ordering: .sequentiallyConsistent) == 1)
  }

  @Test func aClosedMailboxStillGivesWhatItHas() {
    let mailbox = Mailbox<Int>(capacity: 2)
    mailbox.send(1)
    mailbox.close()
    #expect(!mailbox.send(2))
    #expect(mailbox.receive() == [1])
    #expect(mailbox.receive().isEmpty && mailbox.poll().isEmpty)
  }
}
