/// The rules that every home must satisfy, whatever happened to it: one promise each.
enum Rule: String, CaseIterable {
  // The ledger as a file, and its rows.
  case ledgerUnreadable = "ledger-unreadable"
  case integrity
  case rowMalformed = "row-malformed"
  case countWrong = "count-wrong"

  // Every accepted attachment, in one place and one final state.
  case lost
  case doubled
  case uninvited
  case stateOther = "state-other"
  case placeOther = "place-other"
  case summaryWrong = "summary-wrong"
  case stateSecond = "state-second"
  case stateUnexplained = "state-unexplained"
  case placeNone = "place-none"
  case placeShared = "place-shared"

  // Objects.
  case objectMissing = "object-missing"
  case objectAltered = "object-altered"
  case objectStrange = "object-strange"
  case objectGone = "object-gone"
  case orphan
  case leftover

  // What stages have left beside objects.
  case derivedMissing = "derived-missing"
  case derivedAltered = "derived-altered"
  case derivedAstray = "derived-astray"
  case nameCount = "name-count"

  // Contents that were taken out of contents.
  case childAstray = "child-astray"
  case childLost = "child-lost"
  case childDoubled = "child-doubled"
  case childUninvited = "child-uninvited"
  case parentEarly = "parent-early"
  case childrenCount = "children-count"
  case treeCount = "tree-count"
  case treeTooLarge = "tree-too-large"
  case contentMissing = "content-missing"
  case contentLeft = "content-left"

  // What people have written.
  case messageNumber = "message-number"
  case messageDoubled = "message-doubled"
  case pointerWrong = "pointer-wrong"
  case versionLeft = "version-left"

  // Every event for every recipient.
  case deliveryMissing = "delivery-missing"
  case deliveryUninvited = "delivery-uninvited"
  case deliveryDoubled = "delivery-doubled"
  case deliveryDead = "delivery-dead"
  case idDoubled = "id-doubled"
  case eventMissing = "event-missing"
  case eventDoubled = "event-doubled"
  case eventUnknown = "event-unknown"
  case eventWrong = "event-wrong"
  case eventTorn = "event-torn"
  case eventGone = "event-gone"
  case callMissing = "call-missing"
  case callUnknown = "call-unknown"
  case callWrong = "call-wrong"

  // No result of a lost lease.
  case resultStale = "result-stale"
  case leaseWrong = "lease-wrong"

  // The backlog drains.
  case jobMissing = "job-missing"
  case jobLeft = "job-left"
  case lanePaused = "lane-paused"

  var promise: String {
    switch self {
    case .ledgerUnreadable: "the ledger can be read"
    case .integrity: "SQLite's integrity_check and foreign_key_check find nothing"
    case .rowMalformed: "each row is one the schema's words allow, whether or not its CHECKs are there"
    case .countWrong: "the counts are those of the rows"
    case .lost: "what was accepted is in the ledger"
    case .doubled: "it is there once"
    case .uninvited: "nothing is there that nobody handed in"
    case .stateOther: "its state is one it may have, and the one that was told"
    case .placeOther: "place, size and hash are those that were told"
    case .summaryWrong: "a run's summary counts what it told"
    case .stateSecond: "no attachment has two states: in the ledger, in what was told, in its events"
    case .stateUnexplained: "its last attempt led to its state"
    case .placeNone: "what is completed has a place and a hash"
    case .placeShared: "no two attachments have the same place"
    case .objectMissing: "each place has its object"
    case .objectAltered: "each object has the size and the hash of its row"
    case .objectStrange: "nothing but files and folders is in the store"
    case .objectGone: "an object that was seen once is still there, and the same"
    case .orphan: "each object in the store has a row"
    case .leftover: "nothing waits in the store's incoming folder for no one"
    case .derivedMissing: "each derived object on record is in the store"
    case .derivedAltered: "and has the size and the hash of its row"
    case .derivedAstray: "only what is completed, or waits for its children, has derived objects"
    case .nameCount: "each path counts those that have it"
    case .messageNumber: "the messages of a conversation have the numbers from 1 on, without a gap"
    case .messageDoubled: "a message that its client has sent again is there once"
    case .pointerWrong: "who has read a message was told of it, and neither is beyond the last"
    case .versionLeft: "of a deleted message no text is left"
    case .childAstray: "each child has a parent on record, which came before it, of the same message"
    case .childLost: "what is to come out of a content is on record, where that is completed"
    case .childDoubled: "and is on record once"
    case .childUninvited: "and nothing else came out of it"
    case .parentEarly: "what waits for its children ends after them"
    case .childrenCount: "and counts them by their states"
    case .treeCount: "a tree counts its contents, and what waits the children that have not ended"
    case .treeTooLarge: "no tree is deeper or larger than is allowed"
    case .contentMissing: "each child that is queued has its content"
    case .contentLeft: "no content is left of what is completed, or is not on record"
    case .deliveryMissing: "each recipient has a delivery of each attachment that has ended"
    case .deliveryUninvited: "nobody else has"
    case .deliveryDoubled: "and has it once"
    case .deliveryDead: "no delivery was given up"
    case .idDoubled: "an event's id is of one event and one recipient"
    case .eventMissing: "what is delivered to a file stands in it"
    case .eventDoubled: "and stands there once"
    case .eventUnknown: "nothing else stands there"
    case .eventWrong: "it says what the ledger says"
    case .eventTorn: "each line is whole"
    case .eventGone: "an event that was seen once still stands there"
    case .callMissing: "what is delivered to a webhook was received"
    case .callUnknown: "nothing else was received"
    case .callWrong: "it says what the ledger says, each time"
    case .resultStale: "no result is of a lease that was lost"
    case .leaseWrong: "coordinators and attempts only grow"
    case .jobMissing: "whatever is not ended has a job"
    case .jobLeft: "the queue is empty in the end"
    case .lanePaused: "no lane is left paused"
    }
  }
}

/// A broken promise.
struct Finding {
  var rule: Rule
  /// The object and its place.
  var place: String
  var reason: String
}
