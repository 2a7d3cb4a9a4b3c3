/** What the network needs to know of a box: names are unique in a project. */
export interface NetworkMember {
  boxId: string
  project: string
  name: string
}

/** A prepared pair of user and network namespace that one box uses at a time, with its range of host ids. */
export interface NetworkSlot {
  index: number
  /** Path of the user namespace that owns the network namespace; maps 0–65535 to `idBase`…. */
  userNamespace: string
  /** Path of the network namespace: lo and eth0 are up, addresses and routes set. */
  networkNamespace: string
  /** The host id of the box's id 0. */
  idBase: number
  /** The box's IPv4 address, without prefix length. */
  address: string
  /** Host file to mount read-only on /etc/hosts: names of the project's boxes, kept up to date in place. */
  hostsFile: string
  /** Host file to mount read-only on /etc/resolv.conf. */
  resolvFile: string
}

/** What the core knows of the boxes' network, whoever makes it. */
export interface HostNetwork {
  /** What is wrong with the host's network now, for the health report; empty if nothing. */
  problems(): Promise<NetworkProblem[]>
  /** The IPv4 address by which the host reaches a box that runs; null for one that does not. */
  addressOf(boxId: string): Promise<string | null>
  /** Lets go of it. With `release`, also removes every interface, rule and claim of this instance. */
  close(options: { release: boolean }): Promise<void>
}

/**
 * Networks of boxes: boxes of one project reach each other, boxes of different projects do not; none reaches the
 * host's own services, the metadata address (169.254.0.0/16) or, unless configured, private ranges.
 */
export interface Network extends HostNetwork {
  /** Makes the host ready: sysctls, packet filter, the first slots. Throws with a remedy where that is impossible. */
  open(): Promise<void>
  /** Gives the box a slot, puts it into its project and makes its name known there. */
  join(member: NetworkMember): Promise<NetworkSlot>
  /** Takes up a box that runs since before this process: its namespaces are those of process `pid`. */
  adopt(member: NetworkMember, slotIndex: number, pid: number): Promise<NetworkSlot>
  /** Takes the box out of its project and frees the slot. The box's processes are gone. Unknown: a success. */
  leave(boxId: string): Promise<void>
}

export interface NetworkProblem {
  code: string
  evidence: string
  remedy: string
}
