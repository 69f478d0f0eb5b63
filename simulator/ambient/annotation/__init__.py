"""Human annotation of examples and claims: linguists' forms, and the desks of validators and annotators."""
