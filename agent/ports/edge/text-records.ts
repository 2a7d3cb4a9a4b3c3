/** TXT records of the DNS. */
export interface TextRecords {
  /**
   * Returns the texts of the TXT records of a name. None if it has none, or does not exist.
   * @throws ServiceError `runtime_unavailable` if no resolver answers within some seconds
   */
  of(name: string): Promise<string[]>
}
