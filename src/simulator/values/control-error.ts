/** Something the controls cannot do as asked; `status` is the answer of the control API. */
export class ControlError extends Error {
  readonly status: 400 | 404 | 409;

  constructor(status: 400 | 404 | 409, message: string) {
    super(message);
    this.name = 'ControlError';
    this.status = status;
  }
}
