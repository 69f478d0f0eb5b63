"""What people say of examples at forms and desks: linguists, validators, those who sort and mark."""
