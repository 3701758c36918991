import LedgerPort
import Pipeline

/// Whether the transfer of an attachment gets a new link.
package enum RefreshDecision {
  package struct Fact: Equatable {
    package var status: Status
    /// Its job is leased.
    package var isWorkedOn: Bool
    /// A person has deleted it.
    package var isDeleted = false
    /// `nil`: its content is a file.
    package var transfer: Transfer?

    package init(status: Status, isWorkedOn: Bool, transfer: Transfer?) {
      (self.status, self.isWorkedOn, self.transfer) = (status, isWorkedOn, transfer)
    }

    /// Of one that a person has deleted.
    package static let deleted = {
      var fact = Fact(status: .queued, isWorkedOn: false, transfer: nil)
      fact.isDeleted = true
      return fact
    }()
  }

  package struct Transfer: Equatable {
    /// Its content came.
    package var isFetched: Bool
    /// `nil`: it cannot be opened.
    package var link: Link?

    package init(isFetched: Bool, link: Link?) {
      (self.isFetched, self.link) = (isFetched, link)
    }
  }

  package enum Step: Equatable {
    case refused(String)
    /// All that was asked and announced, with the new link.
    case give(Link)
  }

  /// - Parameter fact: of the attachment; `nil`: there is none.
  package static func decide(_ request: RefreshCommand, _ fact: Fact?) -> Step {
    let id = request.attachmentId
    guard let fact else { return .refused("no attachment has the id \(id)") }
    if fact.isDeleted { return .refused("attachment \(id) was deleted; `sluice show` tells by whom") }
    guard let transfer = fact.transfer else {
      return .refused("attachment \(id) is a file: only a link can be replaced by another")
    }
    if fact.status == .completed {
      return .refused("attachment \(id) is completed: its content is here, and no link is needed")
    }
    if transfer.isFetched {
      return .refused(
        "what the link of attachment \(id) has was fetched; `sluice retry` gives it to the stages again")
    }
    if fact.isWorkedOn {
      return .refused(
        "attachment \(id) is just being worked on; run the same command again once it has ended")
    }
    guard var link = transfer.link else {
      return .refused(
        "what is on record of the link of attachment \(id) cannot be opened; delete the attachment, and fetch the new link"
      )
    }
    (link.url, link.expiresAt) = (request.url, request.expiresAt)
    if let fault = link.fault { return .refused("of the new link: \(fault)") }
    return .give(link)
  }

  /// What of a transfer holds for a new link. Validators are a server's own. Without them, only an announced size or hash tells
  /// whether what comes belongs to what is there.
  package static func state(_ state: TransferState, from old: Link, to new: Link) -> TransferState {
    if LinkPlace(old.url) == LinkPlace(new.url) { return state }
    if new.size == nil && new.sha256 == nil { return TransferState() }
    return TransferState(bytes: state.bytes, total: state.total)
  }
}
